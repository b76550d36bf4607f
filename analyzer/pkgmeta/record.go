package pkgmeta

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxRows exceeds the files of any wheel on PyPI; the largest have about 20,000.
const maxRows = 1 << 20

// RecordRow is a row of RECORD (PEP 376, PEP 427): a file of the wheel and its digest.
type RecordRow struct {
	Path string
	Hash string // "sha256=" and base64 without padding; "" if missing
	Size int64  // bytes; -1 if missing
}

// ParseRecord calls yield for each row of a RECORD file, in order, until yield returns false. Empty
// lines are skipped.
//
// It returns an error unless the file is CSV, each row has a path, each size is an integer, and
// there are at most 1,048,576 rows. Rows before the error are yielded.
func ParseRecord(data []byte, yield func(RecordRow) bool) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	for n := 0; ; n++ {
		f, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("RECORD: %w", err)
		}
		line, _ := r.FieldPos(0)
		switch {
		case f[0] == "":
			return fmt.Errorf("RECORD: line %d has no file name", line)
		case n == maxRows:
			return fmt.Errorf("RECORD: has more than %d rows", maxRows)
		}
		row := RecordRow{Path: f[0], Size: -1}
		if len(f) > 1 {
			row.Hash = f[1]
		}
		if len(f) > 2 && f[2] != "" {
			if row.Size, err = strconv.ParseInt(f[2], 10, 64); err != nil || row.Size < 0 {
				return fmt.Errorf("RECORD: line %d has the invalid size %s", line, quote(f[2]))
			}
		}
		if !yield(row) {
			return nil
		}
	}
}
