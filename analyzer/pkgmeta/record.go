package pkgmeta

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxRows is more than the members of any wheel on the public index; the longest has some 20,000.
const maxRows = 1 << 20

// RecordRow is one row of RECORD (PEP 376, PEP 427): a file of the wheel with its digest.
type RecordRow struct {
	Path string
	Hash string // "sha256=" and base64 without padding; "" unsaid
	Size int64  // bytes; -1 unsaid
}

// ParseRecord reads RECORD and gives its rows in order, until yield says stop. Empty lines are
// passed over.
//
// The function returns an error unless: it is CSV; each row has a path; a size is a whole number;
// it has at most 1,048,576 rows. The rows before the error are given before it.
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
				return fmt.Errorf("RECORD: line %d has the size %s", line, quote(f[2]))
			}
		}
		if !yield(row) {
			return nil
		}
	}
}
