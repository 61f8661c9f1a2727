"""The same questions asked of attention functions of many libraries: `python -m recordings.libraries`."""
