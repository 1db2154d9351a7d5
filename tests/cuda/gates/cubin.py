"""Opcodes of a cubin, counted without a disassembler: an ELF file whose .text sections hold
instructions of 128 bits, with the opcode in the low 12 bits (sm_70 and newer)."""
import collections
import struct

# Found by compiling kernels of one instruction.
OPCODES = {0x23c: "HMMA", 0x83b: "LDSM", 0xfae: "LDGSTS", 0x983: "LDL", 0x387: "STL", 0x308: "MUFU",
           0xb1d: "BAR", 0x20b: "FSETP", 0x9f0: "HGMMA of tiles", 0xdf0: "HGMMA of registers",
           0x5b4: "UTMALDG", 0x9c8: "USETMAXREG"}


def histograms(path):
    """Of each kernel: its mangled name and how often it has each opcode."""
    data = path.read_bytes()
    if data[:4] != b"\x7fELF":
        raise ValueError(f"{path} is no ELF file")
    table, = struct.unpack_from("<Q", data, 0x28)
    count, = struct.unpack_from("<H", data, 0x3C)
    names, = struct.unpack_from("<H", data, 0x3E)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    for header in headers:
        begin = headers[names][4] + header[0]
        name = data[begin:data.index(b"\0", begin)].decode()
        if not name.startswith(".text."):
            continue
        code = data[header[4]:header[4] + header[5]]
        found = collections.Counter(struct.unpack_from("<Q", code, i)[0] & 0xFFF
                                    for i in range(0, len(code), 16))
        yield name[len(".text."):], collections.Counter(
            {OPCODES.get(op, f"{op:03x}"): n for op, n in found.items()})
