package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	registry "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// imageOf returns an image with a layer that contains one object.
func imageOf(t *testing.T, name, text string) registry.Image {
	t.Helper()
	data := elftest.File(t, text)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

const newLibrary = "elf x86_64\nsoname libnew.so\nneeded libm.so.6\nimport pow@GLIBC_2.29 libm.so.6\n"

// An image layout with one image, with tags, and with an image for each platform.
func TestCheckImageLayout(t *testing.T) {
	fits := imageOf(t, "usr/lib/libold.so",
		"elf x86_64\nsoname libold.so\nneeded libc.so.6\nimport puts@GLIBC_2.2.5 libc.so.6\n")
	fails := imageOf(t, "usr/lib/libnew.so", newLibrary)
	named := func(tag string) layout.Option {
		return layout.WithAnnotations(map[string]string{refName: tag})
	}
	one, tagged, platforms := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir string, add func(layout.Path) error) {
		t.Helper()
		p, err := layout.Write(dir, empty.Index)
		if err == nil {
			err = add(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(one, func(p layout.Path) error {
		sbom := mutate.ConfigMediaType(empty.Image, "application/vnd.cyclonedx+json")
		sbom = mutate.MediaType(sbom, types.OCIManifestSchema1)
		return errors.Join(p.AppendImage(fails), p.AppendImage(sbom))
	})
	write(tagged, func(p layout.Path) error {
		if err := p.AppendImage(fits, named("1.0")); err != nil {
			return err
		}
		return p.AppendImage(fails, named("2.0"))
	})
	other := "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	write(platforms, func(p layout.Path) error {
		return p.AppendIndex(mutate.AppendManifests(empty.Index,
			mutate.IndexAddendum{Add: fits, Descriptor: registry.Descriptor{
				Platform: &registry.Platform{OS: "linux", Architecture: other},
			}},
			mutate.IndexAddendum{Add: fails, Descriptor: registry.Descriptor{
				Platform: &registry.Platform{OS: "linux", Architecture: runtime.GOARCH},
			}},
			mutate.IndexAddendum{Add: empty.Image, Descriptor: registry.Descriptor{
				Platform: &registry.Platform{OS: "unknown", Architecture: "unknown"},
			}},
		), named("latest"))
	})
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"oci:" + one, exitIncompatible, "GLIBC_2.29"},
		{one, exitIncompatible, "usr/lib/libnew.so"},
		{"oci:" + tagged + ":1.0", exitOK, "compatible"},
		{"oci:" + tagged + ":2.0", exitIncompatible, "GLIBC_2.29"},
		{"oci:" + tagged, exitUsage, "name one of its images, as oci:DIR:TAG (TAG is 1.0, 2.0)"},
		{"oci:" + tagged + ":3.0", exitUsage, "TAG is 1.0, 2.0"},
		{"oci:" + platforms, exitIncompatible, "GLIBC_2.29"},
		{"oci:" + platforms + ":latest", exitIncompatible, "GLIBC_2.29"},
		{"oci:" + t.TempDir(), exitUsage, "give the folder of an OCI image layout"},
	} {
		code, out, errs := checkWith(t, nil, "--platform", "debian10", c.path)
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", c.path, code, c.code, c.want, out, errs)
		}
	}

	// A damaged layer is not used.
	blobs, err := filepath.Glob(filepath.Join(one, "blobs", "sha256", "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(blobs, err)
	}
	for _, b := range blobs {
		if data, err := os.ReadFile(b); err != nil || data[0] == '{' {
			continue
		}
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errs := checkWith(t, nil, "oci:"+one); code != exitUsage {
		t.Errorf("without its layer: exit %d\n%s%s", code, out, errs)
	}
}

// The loader searches the folders of LD_LIBRARY_PATH that the configuration of an image sets,
// whether it was saved or is in a layout.
func TestLibraryPathOfImage(t *testing.T) {
	user := imageOf(t, "usr/bin/user", "elf x86_64\ninterp /lib64/ld-linux-x86-64.so.2\n"+
		"needed libown.so.1\nimport own\n")
	library := imageOf(t, "opt/own/lib/libown.so.1", "elf x86_64\nsoname libown.so.1\nexport own\n")
	layers, err := library.Layers()
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(user, layers...)
	if err != nil {
		t.Fatal(err)
	}
	for environment, want := range map[string]int{
		"LD_LIBRARY_PATH=relative:/opt/own/lib/": exitOK,
		"LD_LIBRARY_PATH=/opt/own":               exitIncompatible,
		"LIBRARY_PATH=/opt/own/lib":              exitIncompatible,
	} {
		set, err := mutate.Config(image, registry.Config{Env: []string{"PATH=/bin", environment}})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		p, err := layout.Write(filepath.Join(dir, "layout"), empty.Index)
		if err == nil {
			err = errors.Join(p.AppendImage(set), tarball.WriteToFile(filepath.Join(dir, "x.tar"), nil, set))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"layout", "x.tar"} {
			code, out, errs := checkWith(t, nil, filepath.Join(dir, form))
			if code != want {
				t.Errorf("%s in %s: exit %d, want %d\n%s%s", environment, form, code, want, out, errs)
			}
		}
	}
}

// An image that was saved to a tar, in the order in which this library writes it.
func TestCheckSavedImage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(file, nil, imageOf(t, "usr/lib/libnew.so", newLibrary)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := checkWith(t, nil, "--platform", "debian10", file)
	if code != exitIncompatible || !strings.Contains(out, "usr/lib/libnew.so") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
