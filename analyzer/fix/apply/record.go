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

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// algorithms are those that RECORD may have (PEP 376, PEP 427).
var algorithms = map[string]func() hash.Hash{
	"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// record writes RECORD: a row for each file, in the old order. Rows that are right are kept. With
// all, each member is compared with its row; otherwise only those that changed.
func (z *archive) record(all bool) error {
	name := z.info + "/RECORD"
	self := z.byName[name]
	old := map[string]pkgmeta.RecordRow{}
	var order []string
	if self != nil {
		text, err := self.bytes()
		if err != nil {
			return err
		}
		// Members after a damaged row get new rows. Some tools on Windows write its separator.
		_ = pkgmeta.ParseRecord(text, func(r pkgmeta.RecordRow) bool {
			r.Path = strings.ReplaceAll(r.Path, `\`, "/")
			if _, again := old[r.Path]; !again {
				order, old[r.Path] = append(order, r.Path), r
			}
			return true
		})
	}
	for _, m := range z.members {
		if _, listed := old[m.Name]; !listed {
			order = append(order, m.Name)
		}
	}
	var rows []pkgmeta.RecordRow
	for _, at := range order {
		m := z.byName[at]
		if m == nil || m == self || m.folder() {
			continue
		}
		r, err := m.row(old[at], all)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	rows = append(rows, pkgmeta.RecordRow{Path: name, Size: -1})
	return z.writeRecord(self, name, rows)
}

// row returns the row of a member; old is the one that it has.
func (m *member) row(old pkgmeta.RecordRow, all bool) (pkgmeta.RecordRow, error) {
	algorithm, _, _ := strings.Cut(old.Hash, "=")
	newHash := algorithms[algorithm]
	free := strings.HasSuffix(m.name, "/RECORD.jws") || strings.HasSuffix(m.name, "/RECORD.p7s")
	if !all && !m.changed && newHash != nil || free && old.Path != "" {
		old.Path = m.name
		return old, nil
	}
	if newHash == nil {
		algorithm, newHash = "sha256", sha256.New
	}
	h := newHash()
	size, err := m.copyTo(h)
	if err != nil {
		return pkgmeta.RecordRow{}, err
	}
	digest := base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	return pkgmeta.RecordRow{Path: m.name, Hash: algorithm + "=" + digest, Size: size}, nil
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
func (z *archive) writeRecord(self *member, name string, rows []pkgmeta.RecordRow) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, r := range rows {
		size := ""
		if r.Size >= 0 {
			size = strconv.FormatInt(r.Size, 10)
		}
		if err := w.Write([]string{r.Path, r.Hash, size}); err != nil {
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
