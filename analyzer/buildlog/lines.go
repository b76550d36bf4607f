package buildlog

import (
	"bytes"
	"io"
)

// block is how much of a log is in memory at a time, in bytes.
const block = 256 << 10

// scan calls visit for every line of r that contains a needle, in order, with its number from
// 1, and returns the number of lines. For a line longer than maxLine, visit receives a part
// around each needle. It stops if visit returns false.
func scan(r io.Reader, visit func(line int, text []byte) bool) (lines int, err error) {
	buf, have, line := make([]byte, block), 0, 1
	for {
		n, err := io.ReadFull(r, buf[have:])
		have += n
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return line, err
		}
		cut := have
		if !last {
			if cut = bytes.LastIndexByte(buf[:have], '\n') + 1; cut == 0 {
				cut = have - min(
					have,
					maxLine,
				)/2 // a line longer than the block: continue with an overlapping part
			}
		}
		if !visitAll(buf[:cut], line, visit) {
			return line, nil
		}
		line += bytes.Count(buf[:cut], []byte{'\n'})
		have = copy(buf, buf[cut:have])
		if last {
			if cut > 0 && buf[cut-1] == '\n' || cut == 0 {
				line--
			}
			return line, nil
		}
	}
}

func visitAll(b []byte, line int, visit func(int, []byte) bool) bool {
	for len(b) > 0 {
		i := triggers.Get().find(b)
		if i < 0 {
			return true
		}
		start := bytes.LastIndexByte(b[:i], '\n') + 1
		line += bytes.Count(b[:start], []byte{'\n'})
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			end = len(b)
		} else {
			end += i
		}
		next := min(end+1, len(b))
		if end-start > maxLine {
			start = max(start, i-maxLine/4)
			end = min(end, start+maxLine)
			next = end
		}
		if !visit(line, b[start:end]) {
			return false
		}
		if next > end {
			line++
		}
		b = b[next:]
	}
	return true
}
