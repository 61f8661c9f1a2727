"""A module of PyTorch that attends, to be followed through exporters."""

import torch
from torch.nn.functional import scaled_dot_product_attention


class Attention(torch.nn.Module):
    def __init__(self, bfloat16, **options):
        super().__init__()
        self.bfloat16, self.options = bfloat16, options

    def forward(self, Q, K, V, mask=None):
        if self.bfloat16:
            Q, K, V = Q.bfloat16(), K.bfloat16(), V.bfloat16()
        output = scaled_dot_product_attention(Q, K, V, mask, **self.options)
        return output.float() if self.bfloat16 else output


def exported(run):
    """Return a function that makes the module anew for its arrays; `run` takes it, its inputs as tensors and as arrays,
    and returns the output of what it was exported to."""

    def attend(Q, K, V, *, mask=None, causal=False, scale=None, bfloat16=False, groups=False, raw=False):
        arrays = [array for array in (Q, K, V, mask) if array is not None]
        module = Attention(bfloat16, is_causal=causal, scale=scale, enable_gqa=Q.shape[1] != K.shape[1]).eval()
        return run(module, tuple(torch.tensor(array) for array in arrays), arrays)

    return attend
