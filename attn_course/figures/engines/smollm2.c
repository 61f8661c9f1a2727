/* What takes the time in a language model, for WebAssembly with SIMD; `make kernel` makes smollm2.wasm of it.

A row of weights of a GGUF file is cut into blocks of 32. In Q4_1 a block has 20 bytes: a scale and a least value in half
precision, and 32 numbers from 0 to 15, those of the second half in the upper bits. In Q8_0 it has 34: a scale, and 32
numbers from -127 to 127. Vectors are rounded as well, to 16 bits with a scale for each block of 32, so that products are
of whole numbers; and they come in fours, so that what is read of a row serves four of them. */
#include <stdint.h>
#include <wasm_simd128.h>

#define EXPORT __attribute__((visibility("default")))
#define ALWAYS static inline __attribute__((always_inline))
#define ROWS 16 /* that are read for all vectors before the next ones are */

ALWAYS float half(const uint8_t *p) {
  uint32_t h = *(const uint16_t *)p, exponent = h >> 10 & 31, rest = h & 1023;
  union { uint32_t bits; float value; } f = {(exponent + 112) << 23 | rest << 13};
  if (!exponent) f.value = rest * 0x1p-24f;
  f.bits |= (h & 0x8000) << 16;
  return f.value;
}

ALWAYS float sum(v128_t a) {
  return wasm_f32x4_extract_lane(a, 0) + wasm_f32x4_extract_lane(a, 1) + wasm_f32x4_extract_lane(a, 2) +
         wasm_f32x4_extract_lane(a, 3);
}

ALWAYS v128_t add_scaled(v128_t to, v128_t scale, v128_t a) { return wasm_f32x4_add(to, wasm_f32x4_mul(scale, a)); }

/* The sums of four vectors of whole numbers. */
ALWAYS v128_t sums(v128_t a, v128_t b, v128_t c, v128_t d) {
  v128_t ab = wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), wasm_i32x4_shuffle(a, b, 2, 6, 3, 7));
  v128_t cd = wasm_i32x4_add(wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), wasm_i32x4_shuffle(c, d, 2, 6, 3, 7));
  return wasm_i32x4_add(wasm_i32x4_shuffle(ab, cd, 0, 1, 4, 5), wasm_i32x4_shuffle(ab, cd, 2, 3, 6, 7));
}

/* n vectors x of n_in floats: whole numbers q, a block of each of four vectors after the other; scales and totals alike.
   The last four are filled up with zeros. */
EXPORT void pack(const float *x, int16_t *q, float *scales, float *totals, int n_in, int n) {
  for (int t = 0; t < (n + 3 & ~3); t++)
    for (int b = 0; b < n_in / 32; b++) {
      int place = (t / 4 * (n_in / 32) + b) * 4 + t % 4;
      float top = 0, total = 0;
      for (int i = 0; i < 32 && t < n; i++) {
        float entry = x[t * n_in + b * 32 + i];
        total += entry;
        if (__builtin_fabsf(entry) > top) top = __builtin_fabsf(entry);
      }
      scales[place] = top / 32767;
      totals[place] = total;
      for (int i = 0; i < 32; i++)
        q[place * 32 + i] = top ? (int16_t)__builtin_rintf(x[t * n_in + b * 32 + i] * (32767 / top)) : 0;
    }
}

ALWAYS v128_t product(const v128_t *w, const int16_t *q) {
  return wasm_i32x4_add(
      wasm_i32x4_add(wasm_i32x4_dot_i16x8(w[0], wasm_v128_load(q)), wasm_i32x4_dot_i16x8(w[1], wasm_v128_load(q + 8))),
      wasm_i32x4_add(wasm_i32x4_dot_i16x8(w[2], wasm_v128_load(q + 16)), wasm_i32x4_dot_i16x8(w[3], wasm_v128_load(q + 24))));
}

/* A row times four vectors, or times the first of them alone. */
ALWAYS v128_t row(int bits, int one, const uint8_t *p, const int16_t *q, const float *scales, const float *totals, int blocks) {
  v128_t all = wasm_f32x4_splat(0), least = all;
  for (int b = 0; b < blocks; b++, q += 128, scales += 4, totals += 4) {
    v128_t w[4];
    if (bits == 4) {
      v128_t bytes = wasm_v128_load(p + 4), low = wasm_v128_and(bytes, wasm_i8x16_splat(15)), high = wasm_u8x16_shr(bytes, 4);
      w[0] = wasm_u16x8_extend_low_u8x16(low), w[1] = wasm_u16x8_extend_high_u8x16(low);
      w[2] = wasm_u16x8_extend_low_u8x16(high), w[3] = wasm_u16x8_extend_high_u8x16(high);
      least = add_scaled(least, wasm_f32x4_splat(half(p + 2)), one ? wasm_v128_load32_zero(totals) : wasm_v128_load(totals));
    } else
      for (int k = 0; k < 4; k++) w[k] = wasm_i16x8_load8x8(p + 2 + 8 * k);
    v128_t scale = wasm_f32x4_splat(half(p));
    scale = wasm_f32x4_mul(scale, one ? wasm_v128_load32_splat(scales) : wasm_v128_load(scales));
    v128_t found = one ? product(w, q) : sums(product(w, q), product(w, q + 32), product(w, q + 64), product(w, q + 96));
    all = add_scaled(all, scale, wasm_f32x4_convert_i32x4(found));
    p += bits == 4 ? 20 : 34;
  }
  return wasm_f32x4_add(all, least);
}

/* y: n vectors of n_out floats, each row of w times each packed vector. */
ALWAYS void times(int bits, const uint8_t *w, const int16_t *q, const float *scales, const float *totals, float *y, int n_in,
                  int n_out, int n) {
  int blocks = n_in / 32, size = blocks * (bits == 4 ? 20 : 34);
  if (n == 1)
    for (int o = 0; o < n_out; o++) y[o] = sum(row(bits, 1, w + o * size, q, scales, totals, blocks));
  else
    for (int from = 0; from < n_out; from += ROWS)
      for (int t = 0; t < n; t += 4)
        for (int o = from; o < from + ROWS && o < n_out; o++) {
          float four[4];
          wasm_v128_store(four, row(bits, 0, w + o * size, q + t * n_in, scales + t * blocks, totals + t * blocks, blocks));
          for (int k = 0; k < 4 && t + k < n; k++) y[(t + k) * n_out + o] = four[k];
        }
}

EXPORT void q4_1(const uint8_t *w, const int16_t *q, const float *scales, const float *totals, float *y, int n_in, int n_out,
                 int n) {
  times(4, w, q, scales, totals, y, n_in, n_out, n);
}

EXPORT void q8_0(const uint8_t *w, const int16_t *q, const float *scales, const float *totals, float *y, int n_in, int n_out,
                 int n) {
  times(8, w, q, scales, totals, y, n_in, n_out, n);
}

/* The dot products of a query with n keys, which are `stride` floats apart. */
EXPORT void scores(const float *query, const float *keys, float *found, int d, int stride, int n) {
  for (int j = 0; j < n; j++, keys += stride) {
    v128_t a = wasm_f32x4_splat(0);
    for (int i = 0; i < d; i += 4) a = add_scaled(a, wasm_v128_load(query + i), wasm_v128_load(keys + i));
    found[j] = sum(a);
  }
}

/* n values, mixed by their weights. */
EXPORT void mix(const float *weights, const float *values, float *mixture, int d, int stride, int n) {
  for (int i = 0; i < d; i += 4) {
    v128_t a = wasm_f32x4_splat(0);
    for (int j = 0; j < n; j++) a = add_scaled(a, wasm_f32x4_splat(weights[j]), wasm_v128_load(values + j * stride + i));
    wasm_v128_store(mixture + i, a);
  }
}
