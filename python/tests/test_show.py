"""What notebooks get: small, without the network, true without scripts."""
import pytest

import trainyard as ty

LIMIT = 300_000


@pytest.fixture
def mode():
    yield ty.display
    ty.display("interactive")


def test_interactive_is_a_sandboxed_frame_below_the_limit():
    bundle = ty.predict("inception_v3", device="k80", workers=[1, 2, 4, 8])._repr_mimebundle_()
    assert 'sandbox="allow-scripts allow-downloads"' in bundle["text/html"]
    assert sum(len(part) for part in bundle.values()) < LIMIT
    assert "<svg" in bundle["image/svg+xml"]
    assert "images/s" in bundle["text/plain"]
    # What is left where frames are taken out.
    assert 'src="data:image/svg+xml' in bundle["text/html"]


def test_svg_mode_has_no_script(mode):
    mode("svg")
    bundle = ty.predict("lenet5", device="k80", workers=[1, 2])._repr_mimebundle_()
    assert "<script" not in bundle["text/html"] and "<iframe" not in bundle["text/html"]
    assert "<table" in bundle["text/html"]


def test_text_mode_is_text_alone(mode):
    mode("text")
    assert list(ty.predict("lenet5", device="k80")._repr_mimebundle_()) == ["text/plain"]


def test_unknown_mode(mode):
    with pytest.raises(ty.RequestError, match="interactive, svg, text"):
        mode("png")


def test_sections_of_a_lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lab = ty.lab("cnn-architectures", quick=True)
    heads = [block.text.splitlines()[0] for block in lab.blocks if block.kind == "heading"]
    section = lab.section(heads[0])
    assert section.figures().blocks
    with pytest.raises(ty.RequestError, match="there are: "):
        lab.section("no such heading")
