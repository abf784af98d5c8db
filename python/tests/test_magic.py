"""Completion, asked of a kernel as a notebook asks it."""
import sys

import pytest

import trainyard as ty
from trainyard.magic import complete_cell


def test_words_of_a_cell():
    text = "%%trainyard\nanalyze res"
    start, words = complete_cell(text, len(text))
    assert text[start:] == "res" and "resnet50" in words and not any(w.startswith("-") for w in words)
    text = "%%trainyard\nmodels\npred"
    assert complete_cell(text, len(text))[1] == ["predict"]
    text = "%%trainyard\npredict resnet50 \\\n  --dev"
    assert "--device" in complete_cell(text, len(text))[1]
    # In the middle of a cell: what follows does not count.
    text = "%%trainyard\nanal vgg16\nmodels"
    assert complete_cell(text, len("%%trainyard\nanal"))[1] == ["analyze"]


def test_a_kernel_completes_cells_and_lines():
    client = pytest.importorskip("jupyter_client")
    manager = client.KernelManager(kernel_name="python3")
    # The one that has the package: a kernel of the system may be another Python.
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel()
    kernel = manager.client()
    kernel.start_channels()
    try:
        kernel.wait_for_ready(timeout=60)
        kernel.execute_interactive("%load_ext trainyard", timeout=60)

        def matches(code):
            reply = kernel.complete(code, reply=True, timeout=60)["content"]
            return [code[:reply["cursor_start"]] + match for match in reply["matches"]]

        assert "%%trainyard\nanalyze resnet50" in matches("%%trainyard\nanalyze resn")
        assert "%trainyard predict" in matches("%trainyard pred")
        assert "%trainyard analyze lenet5" in matches("%trainyard analyze len")
        assert "import os" in matches("import o")
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)


def test_line_and_cell_show_results():
    from IPython.testing.globalipapp import get_ipython
    shell = get_ipython()
    shell.run_line_magic("load_ext", "trainyard")
    result = shell.run_line_magic("trainyard", "analyze lenet5 --batch 2")
    assert isinstance(result, ty.Result)
    with pytest.raises(ty.RequestError, match="expected a command"):
        shell.run_line_magic("trainyard", "")
