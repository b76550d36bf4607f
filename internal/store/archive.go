package store

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/report"
)

// A stored report is a zip archive, so that each page of it reads only what it shows:
//
//	view.json        what the report page shows
//	findings-N.json  the findings from N*perMember on
//	search.txt       the text of each finding in which words are searched, a line each
//
// It is a thirtieth of the JSON: reports of 100,000 findings are below queue.MaxBlob.
const (
	viewName   = "view.json"
	searchName = "search.txt"
	perMember  = 500
)

// Archive is a stored report.
type Archive struct{ zip *zip.Reader }

// EncodeReport returns the stored form of a report and of its view.
func EncodeReport(r *analyzer.Report, v *report.View) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor(
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)))
	add := func(name string, write func(w io.Writer) error) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zstd.ZipMethodWinZip})
		if err == nil {
			err = write(w)
		}
		return err
	}
	err := add(viewName, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
	for i := 0; i < len(r.Findings) && err == nil; i += perMember {
		part := r.Findings[i:min(i+perMember, len(r.Findings))]
		err = add(member(i/perMember), func(w io.Writer) error {
			return json.NewEncoder(w).Encode(part)
		})
	}
	if err == nil {
		err = add(searchName, func(w io.Writer) error {
			out := bufio.NewWriter(w)
			for i := range r.Findings {
				_, _ = out.WriteString(searched(&r.Findings[i])) // Flush returns the error
			}
			return out.Flush()
		})
	}
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("store: encode a report: %w", err)
	}
	return b.Bytes(), nil
}

func member(n int) string { return fmt.Sprintf("findings-%d.json", n) }

// searched returns the line of a finding in search.txt.
func searched(f *analyzer.Finding) string {
	all := strings.Join([]string{f.Rule, string(f.Severity), f.Artifact, f.Object, f.Symbol,
		f.Demangled, f.Version, f.Library, f.Message}, "\t")
	return strings.ReplaceAll(strings.ToLower(all), "\n", " ") + "\n"
}

// OpenReport opens a stored report. It returns an error if it is damaged.
func OpenReport(data []byte) (*Archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("store: the stored report is damaged: %w", err)
	}
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)))
	return &Archive{z}, nil
}

// read opens a member and calls f.
func (a *Archive) read(name string, f func(io.Reader) error) error {
	r, err := a.zip.Open(name)
	if err == nil {
		err = errors.Join(f(r), r.Close())
	}
	if err != nil {
		return fmt.Errorf("store: the stored report is damaged: %s: %w", name, err)
	}
	return nil
}

// View returns what the report page shows.
func (a *Archive) View() (*report.View, error) {
	v := &report.View{}
	err := a.read(viewName, func(r io.Reader) error { return json.NewDecoder(r).Decode(v) })
	if len(v.Why) != len(v.Report.Causes) && err == nil {
		err = errors.New("store: the stored report is damaged: its parts do not fit together")
	}
	return v, err
}

// Report returns the whole report.
func (a *Archive) Report() (*analyzer.Report, error) {
	v, err := a.View()
	if err != nil {
		return nil, err
	}
	all := make([]analyzer.Finding, 0, v.Findings)
	for n := 0; n*perMember < v.Findings; n++ {
		part, err := a.findings(n)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	v.Report.Findings = all
	return &v.Report, nil
}

func (a *Archive) findings(n int) (out []analyzer.Finding, err error) {
	err = a.read(member(n), func(r io.Reader) error { return json.NewDecoder(r).Decode(&out) })
	return out, err
}

// Search returns a page of the findings that contain all words of a query in rule, severity,
// artifact, object, symbol, version, library or message, in any case. Pages count from 1; another
// number is the nearest page.
func (a *Archive) Search(query string, page int) (*report.Found, error) {
	var words [][]byte
	for _, w := range strings.Fields(strings.ToLower(query)) {
		words = append(words, []byte(w))
	}
	found := &report.Found{Query: query}
	var numbers []int
	err := a.read(searchName, func(r io.Reader) error {
		text, err := io.ReadAll(r)
		for line := range bytes.Lines(text) {
			if containsAll(line, words) {
				numbers = append(numbers, found.All)
			}
			found.All++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	found.Matches = len(numbers)
	found.Turn(page)
	var part []analyzer.Finding
	read := -1
	for _, i := range numbers[found.First:min(found.First+report.FoundOnPage, len(numbers))] {
		if n := i / perMember; n != read {
			if part, err = a.findings(n); err != nil {
				return nil, err
			}
			read = n
		}
		if i%perMember < len(part) {
			found.Findings = append(found.Findings, part[i%perMember])
		}
	}
	return found, nil
}

func containsAll(line []byte, words [][]byte) bool {
	for _, w := range words {
		if !bytes.Contains(line, w) {
			return false
		}
	}
	return true
}
