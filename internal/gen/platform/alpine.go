package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1" //nolint:gosec // the index has no other
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/platform/table"
	"github.com/compat-app/compat/internal/apt"
)

// alpineReleases are read as columns: 3.12 is the last with musl 1.1, the libc of musllinux_1_1.
var alpineReleases = []string{"3.12", "3.17", "3.18", "3.19", "3.20", "3.21", "3.22"}

// alpineBase is what a small image with python has; libstdc++ and libgcc are not in it.
var (
	alpineBase = []string{
		"musl", "zlib", "libssl1.1", "libcrypto1.1", "libssl3", "libcrypto3", "libffi", "expat",
		"libexpat", "libbz2", "xz-libs", "libuuid", "sqlite-libs", "readline", "ncurses-libs",
		"libncursesw", "libpanelw", "gdbm", "libtirpc",
	}
	alpineExtra = []string{
		"libstdc++",
		"libgcc",
		"libgomp",
		"libatomic",
		"libgfortran",
		"libquadmath",
		"zstd-libs",
		"libintl",
	}
)

var alpineLibrary = regexp.MustCompile(`^(usr/)?lib/[^/]+\.so[^/]*$`)

// readAlpine reads all of Alpine's releases of one architecture. General mirrors have Alpine next
// to Debian, so its address follows from Debian's. What is downloaded must have the checksum of the
// release's index. A release whose index is older than its packages is left out.
func readAlpine(
	ctx context.Context,
	a architecture,
	cache string,
	log io.Writer,
) (*table.Set, error) {
	debian, err := apt.Mirror()
	if err != nil {
		return nil, err
	}
	set := &table.Set{Arch: a.name + "-musl"}
	b := newBuilder(set)
	for _, release := range alpineReleases {
		address := strings.TrimSuffix(
			strings.TrimSuffix(debian, "/"),
			"debian",
		) + "alpine/v" + release + "/main/" + a.alpine + "/"
		state := filepath.Join(cache, "alpine"+release+"-"+a.alpine)
		if err := os.MkdirAll(state, 0o755); err != nil {
			return nil, err
		}
		packed, err := download(ctx, address+"APKINDEX.tar.gz", state)
		if err != nil {
			return nil, err
		}
		index, err := apkIndex(packed)
		if err != nil {
			return nil, fmt.Errorf("index of Alpine %s: %w", release, err)
		}
		if _, err := download(ctx, address+"musl-"+index["musl"].version+".apk", state); errors.Is(
			err,
			os.ErrNotExist,
		) {
			fmt.Fprintf(log, "Alpine %s on %s is left out: %v\n", release, a.name, err)
			continue
		}
		musl, _, _ := strings.Cut(strings.ReplaceAll(index["musl"].version, "_", "-"), "-")
		column := b.column("alpine"+release, musl)
		for _, name := range append(append([]string{}, alpineBase...), alpineExtra...) {
			p, ok := index[name]
			if !ok {
				continue
			}
			data, err := download(ctx, address+name+"-"+p.version+".apk", state)
			if errors.Is(err, os.ErrNotExist) {
				continue // replaced since the index was made
			}
			if err != nil {
				return nil, err
			}
			set.Columns[column].From = append(set.Columns[column].From, name+"="+p.version)
			if err := p.verify(data); err != nil {
				return nil, fmt.Errorf("%s of Alpine %s: %w", name, release, err)
			}
			err = apkLibraries(data, func(file string, o *elfobj.Object) {
				b.add(column, name, slices.Contains(alpineBase, name), file, o)
			})
			if err != nil {
				return nil, fmt.Errorf("%s of Alpine %s: %w", name, release, err)
			}
		}
	}
	b.finish()
	return set, nil
}

// apk is one entry of an index. The format: wiki.alpinelinux.org/wiki/Apk_spec.
type apk struct{ version, checksum string }

func apkIndex(packed []byte) (map[string]apk, error) {
	var index map[string]apk
	err := members(packed, func(h *tar.Header, r io.Reader) error {
		if h.Name != "APKINDEX" {
			return nil
		}
		index = map[string]apk{}
		var name string
		var p apk
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			switch key, value, _ := strings.Cut(lines.Text(), ":"); key {
			case "C":
				p.checksum = value
			case "P":
				name = value
			case "V":
				p.version = value
			case "":
				index[name], name, p = p, "", apk{}
			}
		}
		return lines.Err()
	})
	if err == nil && index["musl"].version == "" {
		err = fmt.Errorf("it has no musl")
	}
	return index, err
}

// verify compares the SHA-1 of the package's control part, its second gzip stream, with the index.
// The control part holds the data's digest.
func (p apk) verify(data []byte) error {
	want, ok := strings.CutPrefix(p.checksum, "Q1")
	if !ok {
		return fmt.Errorf("the index gives no SHA-1: %q", p.checksum)
	}
	r := bytes.NewReader(data)
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	ends := []int{0}
	for range 2 { // the signature, then the control part
		z.Multistream(false)
		if _, err := io.Copy(io.Discard, z); err != nil {
			return err
		}
		ends = append(ends, len(data)-r.Len())
		if err := z.Reset(r); err != nil {
			return err
		}
	}
	sum := sha1.Sum(data[ends[1]:ends[2]]) //nolint:gosec // the index has no other
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != want {
		return fmt.Errorf("its control part has SHA-1 %s, the index says %s", got, want)
	}
	return nil
}

func apkLibraries(data []byte, visit func(file string, o *elfobj.Object)) error {
	return members(data, func(h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg || !alpineLibrary.MatchString(h.Name) {
			return nil
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return visitObject(h.Name, content, visit)
	})
}

// members visits the files of one or several gzip streams that together are a tar.
func members(packed []byte, visit func(h *tar.Header, r io.Reader) error) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
}

// download gets a file once; later runs find it in dir.
func download(ctx context.Context, address, dir string) ([]byte, error) {
	kept := filepath.Join(dir, path.Base(address))
	if data, err := os.ReadFile(kept); err == nil {
		return data, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s: %w", address, os.ErrNotExist)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, answer.Status)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return data, os.WriteFile(kept, data, 0o644)
}
