"""What models from other seeds answer, asked in the chapters that train the first of each kind: `make siblings`."""

import json
import os
import tempfile
import time
from pathlib import Path

from attn_course.measured import write_measured
from attn_course.siblings import ASKED_ANEW, Siblings
from book import chapters
from book.execute import execute

if __name__ == "__main__":
    start = time.time()
    with tempfile.TemporaryDirectory() as folder:
        answers = Path(folder) / "answers.json"
        os.environ[ASKED_ANEW] = str(answers)
        for path in chapters():
            if Siblings.__name__ in path.read_text(encoding="utf-8"):
                execute(path)
        runs = json.loads(answers.read_text(encoding="utf-8"))
    write_measured("siblings", __file__, runs, source="attn_course.corpora", licence="CC BY 4.0", start=start)
