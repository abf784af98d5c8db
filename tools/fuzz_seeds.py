#!/usr/bin/env python3
"""Writes seeds of a binary format for a fuzz target: fuzz_seeds.py TARGET FOLDER."""
import base64
import json
import pathlib
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "hostile"))
import fixtures


def unpacked(text):
    return zlib.decompress(base64.b85decode(text))


def pickle(storage):
    """A dictionary of one tensor of two elements."""
    return (b"}(X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" + storage + b"\nX\1\0\0\0"
            b"0X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89ccollections\nOrderedDict\n)RtRu")


def pth():
    body = pickle(b"FloatStorage")
    yield fixtures.pth(body, **{"data/0": bytes(8)})
    yield b"\x80\2" + body + b"."
    yield b"\x80\2" + pickle(b"HalfStorage") + b"."
    yield b"\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}.\x80\2" + body + (
        b".\x80\2](X\1\0\0\0" b"0e." + b"\2" + bytes(15))


def tflite():
    """A convolution of bytes, a depthwise one with a scale for each channel, a linear layer of floats."""
    yield unpacked("c-p;EF%H5o47`L06;xGKRaFcfIxtkI6EH9!!NkPCzy~@o!W(!Oufui{B^0`1$#LSu=d+y(!1Z+AWawa!qNMW@8LbmoX`Ef-"
        "Q;ynNMLH*)QnaBpMDk5eni8TBPfh!PIFy&Nmg6hZ3!^GVuO+^eJd2TN<1!kjOfOVbyQ*6EdKPhn)NExpK=Z1lLZELR{ry&8FRvJvWsBkmqjq4&#Bz8ZROB0H"
        "t_Rllql?hgpV=yzGLTRXW}QTLejon|?asNI^h!Ezr0d}yB~hhHfBXH6-ddRu0{")
    yield unpacked("c-nPQF%H5o47`L01yoh2st`km4h#&PfPn!CCZ>*jphHJ^1Fzt@2*+_r8quq4Cry0zIcos-TYJdSz#v0O`z><vGkDYz_ZZ`?d~{(+Hm7Vu9^}KxiYy~W|F5ET"
        "U`$a8qb4iJT4t^|x8xd|iA*EajF@8xiYigGliQ1^Kd@epQ^KZ%NwYejtDoJYFL3tV60gINdrdLaY9=}!rmKCp0I#e5b5HU70890p8XKM2F~_gpOy+0!i(kgZ"
        "3YGqR0ql$mbN")
    yield unpacked("c-nPPyAHxI47>&l1yoh2sw##K9T=JDKXgEh{6Gdq_!>T#i|aN4QA-!+;k&cb0=SR2p~4x05)IEMR9rWhqPKj(ceKTnW7-"
        "p2vV|+KLwY$7B^5<)I_{I=Z@eu#q9(4Y+$pzFkK+nc%uNh#ag7uGceVC);@Q>NeViinukd^nsswn}MKzx(_>4I#I;*d>6VYzc&-jcPEIzdY3e*")


def picture():
    """PNG of each kind, JPEG of three colors, the same progressive, of four colors, and gray."""
    for color, depth, row in ((0, 1, 1), (0, 16, 8), (2, 8, 12), (4, 8, 8), (6, 8, 16)):
        yield fixtures.png(4, 4, color, depth, bytes(4 * (row + 1)))
    yield unpacked("c-"
        "s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I?pTn}?5wOMs7;Pe@QeSVBWeLQG7;P+3)0!^+s!#?sir+`%Kp&%q_!)!ZT=H!wUtDLo_I&bP3#Af+NEH9Z+*2&15okc"
        "6m&zLb=HvXg~VGRffo0R}-"
        "122KV}W=16jCP7AKLB{__7(~HNMFz|aKw&ij21aHkCT@f<BLlM_6ANpiu&9!uX<%r{qQe(K+8NQcGk{E$7Gz*#VMY}e6f$ID{_y`60}nGJ(0*n?2788P-"
        ">m^#)pXuuUb1J%4VT{BkYqV|l5BOym)G(7EAKu0vA_Hs=j6Cx_g5;n`v2bq0OHD5B>")
    yield unpacked("c-"
        "s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I?pTn}?5wOMs7;Pe@QeSVBWeLQG7;P+3)0!^+s!#?sir+`%Kp&%q_!)!ZT=H!wUtDLo_I&bP3#Af+NEH9Z+*2&15okc"
        "6m&zLb=HvXg~VGRffoAqGJX22KV}W=16jCP7AKLB{__7(~HNMFva^AYn#yVFt$kw-"
        "|Vs85x)am<52m=1ib6NdX2XW>kehbA^q8N;!ZAFtRc&>3t$^3^Gs<!$3i>DrQDTd&c!Z72<*nXhtzGGC|ZZfz(W24pby30CX=Ws(Trk1%wohor(@ZZDq4(n$"
        "8lsbW4BP8+)J@DWDcs6oVNV1Ox*MKfoMmuQ)M0XovTGnEx1<focTIfm+1`!E9upXb5+;Ktw&**^Fq41Q`rJz@06?y$YmCRsd)b3$p(hfyxp;2q*?#gu6q4%c"
        "n$ObIySyRXf(cUv>F#|Nol+W7K+`")
    yield unpacked("c-s4a<NrGbKF5^&q*R6!1`zmvo57hufSZSphf9EumrqDgKv+UUN<vIb!cbXNR>R8J*2dD<!rZ|l#?Qee+|}G7AU7~PJ}EsT-OjhLvLK}*CN(|z{{aRO4hBvJ"
        "P8MfD246vjNI?c~L5BZF7$g}On3x$EkN^`4BQqO2P|93@fsvVsiG^JdCdJ6WB*@GnB*Lm_=*TAKn%unbkg&3mnNwg;NN7pvl*OA4U%d4H76TuPGlMTfB!f2t"
        "gFS<Qbn2a>JEun*1T19`(B2*0VNk|kD*Hx}lP^`+@5Y1EN7o9o`MOu62r#lRB*%EGSIrU4uzYl1P~^ns1yM2vHl5YmI+SEos&sEHTg^Q?=;n?Y>FTZ%%;kPP"
        ";=I4c<MZ~U?OiqZgUUgKO<()Bsr_e+zpXm^q5OJXtN&Aj`}&X8{psqOXK?HH-Rt+R>}!5vH+jR%3pMSR%ET=qN@qlt{=W$T>bQF`")
    yield unpacked("c-"
        "s4a<NpH&0WUXCHwH#V1_nkTWcYuZ!I?pTn}?5wOMs7;Pe@QeSVBWeLQG7;P+3)0!^+s!#?sir+`%Kp&%q_!)!ZT=H!wUtDLo_I&bP3#Af+NEH9h(N0S0ak22"
        "KV}Mn*w~|3?_afaU|uMgq)?tUz%U0R{$EW+rwd2}ULsL1tDVQAM+m=E<86UiyEFfdi!1o?*+|H95T(BR_38Rp1n?6*<vIu-"
        "bOJropYd^C#8bcE50H|HtZc^LrKB|K9`v=>j>U")


def idx_cifar():
    yield b"\0" + bytes(3073)
    yield b"\1" + bytes(3074)
    yield b"\2" + b"\0\0\x08\3\0\0\0\1\0\0\0\2\0\0\0\2" + bytes(4) + b"\0\0\x08\1\0\0\0\1\0"


def npy():
    yield fixtures.npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", bytes(8))


def safetensors():
    shape = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    yield fixtures.safetensors({"__metadata__": {"a": "b"}, "w": shape}, bytes(8))


def serve_v2():
    """The length of the JSON, the JSON, tensors in bytes."""
    for data, rest in (({"data": [1.5, 2]}, b""), ({"parameters": {"binary_data_size": 8}}, bytes(8))):
        x = {"name": "x", "shape": [1, 2], "datatype": "FP32", **data}
        text = json.dumps({"id": "1", "parameters": {"priority": 1}, "inputs": [x],
                           "outputs": [{"name": "y", "parameters": {"classification": 2}}]}).encode()
        yield len(text).to_bytes(2, "little") + text + rest
    text = json.dumps({"inputs": [{"name": "x", "shape": [2], "datatype": "BYTES", "data": ["a", "\u00e9"]}]}).encode()
    yield len(text).to_bytes(2, "little") + text


def serve_score():
    tensor = fixtures.field(1, 2) + fixtures.field(2, 1) + fixtures.field(9, bytes(8))
    yield fixtures.field(1, fixtures.field(1, "x") + fixtures.field(2, tensor)) + fixtures.field(2, "y")
    yield b'{"inputs":{"x":{"dims":["1","2"],"dataType":1,"rawData":"AAAAAAAAAAA="}},"outputFilter":["y"]}'
    yield b'{"inputs":{"x":{"dims":[2],"dataType":7,"int64Data":["1",2]}}}'
    yield (b'name: "m" max_batch_size: 4 input [{ name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] }] '
           b"dynamic_batching { preferred_batch_size: [2] max_queue_delay_microseconds: 5 } instance_group [{ count: 1 }]")


def serve_http():
    """The size of pieces, what a connection brings."""
    yield b"\x05GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n"
    yield b"\xffPOST /v2/models/m/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"
    yield b"\x10POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"


def serve_grpc():
    """ModelInferRequest with typed contents of each kind, and one with raw bytes."""
    field = fixtures.field
    wanted = field(6, field(1, "y") + field(2, field(1, "classification") + field(2, field(2, 2))))
    kinds = (("BOOL", 1, b"\1\0"), ("INT32", 2, b"\1\2"), ("INT64", 3, b"\1\2"), ("UINT32", 4, b"\1\2"), ("UINT64", 5, b"\1\2"),
             ("FP32", 6, bytes(8)), ("FP64", 7, bytes(16)))
    for kind, number, values in kinds:
        tensor = field(1, "x") + field(2, kind) + field(3, b"\1\2") + field(5, field(number, values))
        yield field(1, "m") + field(3, "1") + field(5, tensor) + wanted
    texts = field(1, "x") + field(2, "BYTES") + field(3, b"\2") + field(5, field(8, "a") + field(8, "b"))
    yield field(1, "m") + field(4, field(1, "priority") + field(2, field(3, "1"))) + field(5, texts)
    yield field(1, "m") + field(5, field(1, "x") + field(2, "FP32") + field(3, b"\1\2")) + field(7, bytes(8))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    seeds = {seeds.__name__: seeds for seeds in (pth, tflite, picture, idx_cifar, npy, safetensors, serve_v2, serve_score, serve_http, serve_grpc)}
    if sys.argv[1] not in seeds:
        sys.exit("fuzz_seeds.py: no target '%s', expected one of %s" % (sys.argv[1], ", ".join(seeds)))
    for number, seed in enumerate(seeds[sys.argv[1]]()):
        (pathlib.Path(sys.argv[2]) / str(number)).write_bytes(seed)


main()
