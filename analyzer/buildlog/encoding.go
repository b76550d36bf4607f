package buildlog

import (
	"bufio"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// inUTF8 returns the text of a log in UTF-8. The shell of Windows writes UTF-16, with a byte order
// mark or without one, where every second byte of a message in English is zero.
func inUTF8(r io.Reader) (io.Reader, error) {
	const sample = 64
	b := bufio.NewReaderSize(r, sample)
	head, err := b.Peek(sample)
	if err != nil && err != io.EOF {
		return nil, err
	}
	zeros := [2]int{}
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	order := unicode.LittleEndian
	switch {
	case len(head) >= 2 && head[0] == 0xff && head[1] == 0xfe, zeros[0] == 0 && zeros[1] > len(head)/4:
	case len(head) >= 2 && head[0] == 0xfe && head[1] == 0xff, zeros[1] == 0 && zeros[0] > len(head)/4:
		order = unicode.BigEndian
	default:
		return b, nil
	}
	return transform.NewReader(b, unicode.UTF16(order, unicode.UseBOM).NewDecoder()), nil
}
