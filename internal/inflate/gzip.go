package inflate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
)

// readers are reused, because a command reads several small tables.
var readers = sync.Pool{New: func() any { return NewReader() }}

// Gzip returns the content of a file that gzip.Writer wrote, in a fifth of the time of the
// available packages. It is for files that are part of the program: the checksum is not compared,
// and the length that the file declares is allocated.
func Gzip(file []byte) (string, error) {
	const header, trailer = 10, 8 // RFC 1952; the header has no optional fields
	if len(file) < header+trailer || string(file[:4]) != "\x1f\x8b\x08\x00" {
		return "", fmt.Errorf("no header of gzip: %x", file[:min(len(file), header)])
	}
	r := readers.Get().(*Reader)
	defer readers.Put(r)
	size := int64(binary.LittleEndian.Uint32(file[len(file)-4:]))
	r.Reset(bytes.NewReader(file[header : len(file)-trailer]))
	defer r.Reset(nil)
	var text strings.Builder
	text.Grow(int(size))
	if _, err := io.CopyN(&text, r, size); err != nil {
		return "", err
	}
	return text.String(), nil
}

// Embedded is Gzip for a file that a test reads. It panics if the file is damaged.
func Embedded(file []byte) string {
	text, err := Gzip(file)
	if err != nil {
		panic(fmt.Errorf("embedded file: %w", err))
	}
	return text
}
