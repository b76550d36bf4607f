package apply

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/csv"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
)

// algorithms are those that RECORD may have (PEP 376, PEP 427).
var algorithms = map[string]func() hash.Hash{
	"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// row is a row of RECORD: a path, a digest and a size.
type row [3]string

// record writes RECORD: a row for each file, in the old order. Rows that are right are kept. With
// all, each member is compared with its row; otherwise only those that changed.
func (z *archive) record(all bool) error {
	name := z.info + "/RECORD"
	self := z.byName[name]
	old := map[string]row{}
	var order []string
	if self != nil {
		text, err := self.bytes()
		if err != nil {
			return err
		}
		order, old = readRecord(text)
	}
	for _, m := range z.members {
		if _, listed := old[m.Name]; !listed {
			order = append(order, m.Name)
		}
	}
	var rows []row
	for _, at := range order {
		m := z.byName[at]
		if m == nil || m == self || strings.HasSuffix(m.name, "/") {
			continue
		}
		r, err := m.row(old[at], all)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	rows = append(rows, row{name})
	return z.writeRecord(self, name, rows)
}

// readRecord returns the rows of a RECORD by their path, and the paths in order. What is no row is
// left out. Some tools on Windows write its separator.
func readRecord(text []byte) (order []string, rows map[string]row) {
	rows = map[string]row{}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	for {
		f, err := r.Read()
		if err != nil {
			return order, rows
		}
		var x row
		copy(x[:], f)
		x[0] = strings.ReplaceAll(x[0], `\`, "/")
		if _, again := rows[x[0]]; x[0] == "" || again {
			continue
		}
		order, rows[x[0]] = append(order, x[0]), x
	}
}

// row returns the row of a member; old is the one that it has.
func (m *member) row(old row, all bool) (row, error) {
	algorithm, _, _ := strings.Cut(old[1], "=")
	newHash := algorithms[algorithm]
	free := strings.HasSuffix(m.name, "/RECORD.jws") || strings.HasSuffix(m.name, "/RECORD.p7s")
	if !all && !m.changed && newHash != nil || free && old[0] != "" {
		old[0] = m.name
		return old, nil
	}
	if newHash == nil {
		algorithm, newHash = "sha256", sha256.New
	}
	h := newHash()
	size, err := m.copyTo(h)
	if err != nil {
		return row{}, err
	}
	digest := base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return row{m.name, algorithm + "=" + digest, strconv.FormatInt(size, 10)}, nil
}

// copyTo writes the content of a member, and returns its size.
func (m *member) copyTo(w io.Writer) (int64, error) {
	if m.changed {
		n, err := w.Write(m.new)
		return int64(n), err
	}
	r, err := m.Open()
	if err != nil {
		return 0, refuse("%s: %v", m.name, err)
	}
	defer r.Close()
	n, err := io.Copy(w, io.LimitReader(r, int64(m.UncompressedSize64)+1))
	if err != nil {
		return 0, refuse("%s cannot be read: %v", m.name, err)
	}
	return n, nil
}

// writeRecord changes RECORD, or adds it as the last member.
func (z *archive) writeRecord(self *member, name string, rows []row) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, r := range rows {
		if err := w.Write(r[:]); err != nil {
			return err
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return err
	}
	if self == nil {
		h := zip.FileHeader{Name: name, Method: zip.Deflate}
		if len(z.members) > 0 { // as old and as readable as the others
			like := slices.MaxFunc(z.members, func(a, b *member) int {
				return a.Modified.Compare(b.Modified)
			})
			//lint:ignore SA1019 the fields are written as they were stored
			h.ModifiedTime, h.ModifiedDate = like.ModifiedTime, like.ModifiedDate //nolint:staticcheck
			h.CreatorVersion, h.ExternalAttrs = like.CreatorVersion, regular
		}
		self = &member{File: &zip.File{FileHeader: h}, name: name, added: true}
		z.members = append(z.members, self)
	}
	if !self.added {
		if old, err := self.bytes(); err == nil && bytes.Equal(old, b.Bytes()) {
			return nil
		}
	}
	self.new, self.changed = b.Bytes(), true
	return nil
}

// regular are the attributes of a file that everybody can read.
const regular = 0o100644 << 16
