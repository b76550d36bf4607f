package cases

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
)

// Bomb returns a zip with one file of mib MiB of zeros, about a thousand times its size.
func Bomb(name string, mib int) []byte {
	zeros := make([]byte, 1<<20)
	var one bytes.Buffer
	f, _ := flate.NewWriter(&one, flate.BestCompression) // only an unknown level fails
	_, _ = f.Write(zeros)                                // memory never fails
	// ends the block at a byte boundary, so that it can be repeated
	_ = f.Flush()
	sum := crc32.NewIEEE()
	var packed bytes.Buffer
	for range mib {
		packed.Write(one.Bytes())
		sum.Write(zeros)
	}
	packed.Write([]byte{1, 0, 0, 0xff, 0xff}) // an empty last block
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.CreateRaw(
		&zip.FileHeader{
			Name:               name,
			Method:             zip.Deflate,
			CRC32:              sum.Sum32(),
			CompressedSize64:   uint64(packed.Len()),
			UncompressedSize64: uint64(mib) << 20,
		},
	)
	_, _ = w.Write(packed.Bytes())
	_ = z.Close()
	return b.Bytes()
}
