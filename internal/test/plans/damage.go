package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// member is a file in a wheel.
type member struct {
	zip.FileHeader
	data []byte
}

func (m *member) elf() bool { return bytes.HasPrefix(m.data, []byte("\x7fELF")) }

// wheel is a wheel that is damaged. record is set if RECORD is not written again.
type wheel struct {
	name    string
	members []*member
	record  bool
}

// damages are what is done to a wheel, by name.
var damages = map[string]func(w *wheel) error{
	// RECORD has hexadecimal digests.
	"record-hex": func(w *wheel) error {
		return w.records(func(row []string) []string {
			digest, ok := strings.CutPrefix(row[1], "sha256=")
			if b, err := base64.RawURLEncoding.DecodeString(digest); ok && err == nil {
				row[1] = "sha256=" + hex.EncodeToString(b)
			}
			return row
		})
	},
	// RECORD lacks binaries, and has a file that is not in the wheel.
	"record-rows": func(w *wheel) error {
		return w.records(func(row []string) []string {
			if strings.HasSuffix(row[0], "/METADATA") {
				row[0] = strings.Replace(row[0], "METADATA", "entry_points.none", 1)
			}
			if strings.Contains(row[0], ".so") || strings.Contains(row[0], ".pyd") ||
				strings.Contains(row[0], ".dylib") {
				return nil
			}
			return row
		})
	},
	// RECORD has other sizes.
	"record-sizes": func(w *wheel) error {
		return w.records(func(row []string) []string {
			if row[2] != "" {
				row[2] += "0"
			}
			return row
		})
	},
	// The tags in WHEEL are those of the build.
	"wheel-tags": func(w *wheel) error {
		return w.lines("WHEEL", func(line string) string {
			if strings.HasPrefix(line, "Tag:") {
				return line[:strings.LastIndexByte(line, '-')] + "-linux_x86_64\n"
			}
			return line
		})
	},
	// The wheel has the oldest tag there is.
	"manylinux1": func(w *wheel) error { return w.retag("manylinux1_x86_64") },
	// The wheel for arm64 says that it is for both machines.
	"universal2": func(w *wheel) error { return w.retag("macosx_11_0_universal2") },
	// Libraries are looked for in a folder of the build machine.
	"rpath": func(w *wheel) error { return w.patchelf("--set-rpath", "/home/build/output/lib") },
	// Libraries ask for an executable stack.
	"execstack": func(w *wheel) error { return w.patchelf("--set-execstack") },
	// The libraries that auditwheel copied are not there.
	"no-libs": func(w *wheel) error {
		var kept []*member
		for _, m := range w.members {
			if !strings.Contains(path.Dir(m.Name), ".libs") {
				kept = append(kept, m)
			}
		}
		if len(kept) == len(w.members) {
			return fmt.Errorf("the wheel has no folder for libraries")
		}
		w.members = kept
		return nil
	},
}

// damaged writes a damaged copy of a wheel to a folder and returns its path.
func damaged(file, damage, dir string) (string, error) {
	w, err := openWheel(file)
	if err != nil {
		return "", err
	}
	if damage != "" {
		if err := damages[damage](w); err != nil {
			return "", err
		}
	}
	if !w.record && damage != "" {
		if err := w.records(func(row []string) []string { return row }); err != nil {
			return "", err
		}
	}
	return w.write(dir, damage == "", file)
}

func openWheel(file string) (*wheel, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	w := &wheel{name: filepath.Base(file)}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		w.members = append(w.members, &member{f.FileHeader, b})
	}
	return w, nil
}

// write writes the wheel. One that is not changed is copied.
func (w *wheel) write(dir string, same bool, file string) (string, error) {
	to := filepath.Join(dir, w.name)
	if same {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		return to, os.WriteFile(to, b, 0o644)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range w.members {
		h := zip.FileHeader{Name: m.Name, Method: m.Method, Modified: m.Modified,
			ExternalAttrs: m.ExternalAttrs, CreatorVersion: m.CreatorVersion}
		f, err := z.CreateHeader(&h)
		if err == nil {
			_, err = f.Write(m.data)
		}
		if err != nil {
			return "", err
		}
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return to, os.WriteFile(to, out.Bytes(), 0o644)
}

// info returns a file of the dist-info folder.
func (w *wheel) info(name string) (*member, error) {
	for _, m := range w.members {
		if strings.HasSuffix(m.Name, ".dist-info/"+name) && strings.Count(m.Name, "/") == 1 {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the wheel has no %s", name)
}

// lines changes the lines of a file of the dist-info folder, which have their ends.
func (w *wheel) lines(name string, change func(line string) string) error {
	m, err := w.info(name)
	if err != nil {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(string(m.data)) {
		b.WriteString(change(line))
	}
	m.data = []byte(b.String())
	return nil
}

// records writes RECORD for the members as they are, with a change of each row; nil removes it.
func (w *wheel) records(change func(row []string) []string) error {
	record, err := w.info("RECORD")
	if err != nil {
		return err
	}
	w.record = true
	var b bytes.Buffer
	rows := csv.NewWriter(&b)
	for _, m := range w.members {
		if m.FileInfo().IsDir() {
			continue
		}
		row := []string{m.Name, "", ""}
		if m != record {
			sum := sha256.Sum256(m.data)
			row[1] = "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])
			row[2] = strconv.Itoa(len(m.data))
			row = change(row)
		}
		if row == nil {
			continue
		}
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	record.data = b.Bytes()
	return rows.Error()
}

// retag gives the wheel a platform tag, in its name and in WHEEL.
func (w *wheel) retag(platform string) error {
	parts := strings.Split(strings.TrimSuffix(w.name, ".whl"), "-")
	w.name = strings.Join(append(parts[:len(parts)-1], platform), "-") + ".whl"
	seen := map[string]bool{}
	return w.lines("WHEEL", func(line string) string {
		if !strings.HasPrefix(line, "Tag:") {
			return line
		}
		line = line[:strings.LastIndexByte(line, '-')] + "-" + platform + "\n"
		if seen[line] {
			return ""
		}
		seen[line] = true
		return line
	})
}

// patchelf edits the shared libraries that have a DT_NEEDED entry.
func (w *wheel) patchelf(args ...string) error {
	dir, err := os.MkdirTemp("", "plans")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n := 0
	for _, m := range w.members {
		if !m.elf() || !strings.Contains(path.Base(m.Name), ".so") {
			continue
		}
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, m.data, 0o755); err != nil {
			return err
		}
		if out, err := exec.Command("patchelf", append(args, file)...).CombinedOutput(); err != nil {
			return fmt.Errorf("patchelf: %w: %s", err, tail(out))
		}
		if m.data, err = os.ReadFile(file); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("the wheel has no shared library for Linux")
	}
	return nil
}
