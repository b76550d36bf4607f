package machoobj

import (
	"encoding/binary"
	"slices"
)

// signing is how code is signed ad hoc, without a certificate.
type signing struct {
	identifier string
	kind       byte
	text       [2]uint64 // offset and size of __TEXT
	program    bool      // the main binary of a process
}

const (
	signedPage     = 12      // size of a page, as a power of two
	signedVersion  = 0x20400 // of a CodeDirectory that describes __TEXT
	signedHeader   = 88      // size of its header
	mainBinaryFlag = 1
)

// sign returns a signature of code, which is what comes before the signature in a slice.
func (s signing) sign(code []byte) []byte {
	be := binary.BigEndian
	sum := directory{kind: s.kind}.hash()
	var hashes []byte
	for page := range slices.Chunk(code, 1<<signedPage) {
		sum.Reset()
		sum.Write(page)
		hashes = sum.Sum(hashes)
	}
	ident := append([]byte(s.identifier), 0)
	at := signedHeader + len(ident)
	var d []byte
	for _, v := range []uint32{magicCodeDirectory, uint32(at + len(hashes)), signedVersion, adHocFlag,
		uint32(at), signedHeader, 0, uint32(len(hashes) / sum.Size()), uint32(len(code))} {
		d = be.AppendUint32(d, v)
	}
	d = append(d, byte(sum.Size()), s.kind, 0, signedPage, 0, 0, 0, 0)
	d = append(d, make([]byte, 4*3+8)...) // scatter, team, spare, and the limit of large files
	flags := uint64(0)
	if s.program {
		flags = mainBinaryFlag
	}
	for _, v := range []uint64{s.text[0], s.text[1], flags} {
		d = be.AppendUint64(d, v)
	}
	d = slices.Concat(d, ident, hashes)
	const header = 20 // of the blob that contains it
	var b []byte
	for _, v := range []uint32{magicSuperBlob, uint32(header + len(d)), 1, 0, header} {
		b = be.AppendUint32(b, v)
	}
	return append(b, d...)
}
