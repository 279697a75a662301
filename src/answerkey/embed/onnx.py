"""onnxruntime without its telemetry: since 1.31 it keeps a device id in the home folder and reports to its maker."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when it is imported

import onnxruntime

onnxruntime.disable_telemetry_events()  # where somebody else has imported it before

__all__ = ["onnxruntime"]
