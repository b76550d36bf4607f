package cases

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Wheel is a wheel before it is packed. Its METADATA, WHEEL and RECORD are made when it is.
type Wheel struct {
	Name, Version string
	// "cp311-cp311-manylinux2014_x86_64"; those of a wheel differ in the platform only
	Tags     []string
	Requires []string // as in Requires-Dist
	Files    map[string][]byte
}

// FileName is NAME-VERSION-PYTHON-ABI-PLATFORM[.PLATFORM].whl.
func (w Wheel) FileName() string {
	var platforms []string
	front := ""
	for _, t := range w.Tags {
		i := strings.LastIndex(t, "-")
		front, platforms = t[:i], append(platforms, t[i+1:])
	}
	return w.stem() + "-" + front + "-" + strings.Join(platforms, ".") + ".whl"
}

func (w Wheel) stem() string { return strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version }

// File gives the wheel's name and bytes.
func (w Wheel) File() (name string, content []byte) {
	info := w.stem() + ".dist-info/"
	files := maps.Clone(w.Files)
	metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)
	for _, r := range w.Requires {
		metadata += "Requires-Dist: " + r + "\n"
	}
	files[info+"METADATA"] = []byte(metadata)
	files[info+"WHEEL"] = []byte(
		"Wheel-Version: 1.0\nGenerator: cases\nRoot-Is-Purelib: false\nTag: " + strings.Join(
			w.Tags,
			"\nTag: ",
		) + "\n",
	)
	record := ""
	for _, path := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[path])
		record += fmt.Sprintf(
			"%s,sha256=%s,%d\n",
			path,
			base64.RawURLEncoding.EncodeToString(sum[:]),
			len(files[path]),
		)
	}
	files[info+"RECORD"] = []byte(record + info + "RECORD,,\n")
	return w.FileName(), Zip(files)
}

// Under is the wheel as one file in a folder ("dist/", "" for none), to be given to Zip.
func (w Wheel) Under(folder string) map[string][]byte {
	name, content := w.File()
	return map[string][]byte{folder + name: content}
}

// Zip packs files, all of the maps together, in the order of their names. This is what
// upload-artifact makes.
func Zip(files ...map[string][]byte) []byte {
	all := map[string][]byte{}
	for _, f := range files {
		maps.Copy(all, f)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		method := zip.Deflate
		if len(all[path]) == 0 {
			// a compressor each would make a zip of 300,000 empty files take minutes
			method = zip.Store
		}
		f, _ := z.CreateHeader(&zip.FileHeader{Name: path, Method: method})
		_, _ = f.Write(all[path]) // memory never fails
	}
	_ = z.Close()
	return b.Bytes()
}

// Dist is an artifact of wheels: a zip with each under dist/.
func Dist(wheels ...Wheel) []byte {
	var files []map[string][]byte
	for _, w := range wheels {
		files = append(files, w.Under("dist/"))
	}
	return Zip(files...)
}
