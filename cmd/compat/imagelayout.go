package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	registry "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/compat-app/compat/analyzer"
)

// imageLayout begins an input that is a folder with an OCI image layout, as skopeo and buildah
// write it, optionally with the name of one of its images: oci:DIR or oci:DIR:TAG.
const imageLayout = "oci:"

// isLayout reports whether a folder is an OCI image layout (OCI image specification,
// "image-layout.md").
func isLayout(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil && info.Mode().IsRegular()
}

// image adds an image of a layout, converted to the form of "docker save".
func (in *inputs) image(at string) error {
	dir, tag := at, ""
	if i := strings.LastIndexByte(at, ':'); !isLayout(at) && i > 0 {
		dir, tag = at[:i], at[i+1:]
	}
	if !isLayout(dir) {
		return fmt.Errorf("%s%s: this folder has no file oci-layout; give the folder of an OCI image "+
			"layout", imageLayout, at)
	}
	f, err := in.temporary()
	if err != nil {
		return fmt.Errorf("%s%s: %w", imageLayout, at, err)
	}
	if err := saveImage(f, dir, tag); err != nil {
		return fmt.Errorf("%s%s: %w", imageLayout, at, err)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	input := analyzer.Input{Name: filepath.ToSlash(at), Content: f, Size: info.Size()}
	in.list = append(in.list, input)
	return nil
}

// saveImage writes an image of a layout as a tar. Without a tag the layout must have one image, or
// one for this architecture.
func saveImage(f *os.File, dir, tag string) error {
	p, err := layout.FromPath(dir)
	if err != nil {
		return err
	}
	index, err := p.ImageIndex()
	if err != nil {
		return err
	}
	image, err := chooseImage(index, tag)
	if err != nil {
		return err
	}
	return tarball.Write(nil, image, f)
}

// chooseImage returns an image of an index, also of an index in it: one index per tag with one
// image per platform is usual.
func chooseImage(index registry.ImageIndex, tag string) (registry.Image, error) {
	for range 4 { // nested indexes
		m, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		var found []registry.Descriptor
		var tags []string
		for _, d := range m.Manifests {
			name := d.Annotations[refName]
			switch {
			case d.Platform != nil && d.Platform.OS == "unknown": // an attestation
			case tag == "" || name == tag:
				found = append(found, d)
			}
			tags = append(tags, name)
		}
		if len(found) > 1 {
			found = slices.DeleteFunc(found, func(d registry.Descriptor) bool {
				return d.Platform == nil || d.Platform.OS != "linux" ||
					d.Platform.Architecture != runtime.GOARCH
			})
		}
		if len(found) != 1 {
			slices.Sort(tags)
			return nil, fmt.Errorf("name one of its images, as %sDIR:TAG (TAG is %s)", imageLayout,
				strings.Join(slices.DeleteFunc(slices.Compact(tags),
					func(s string) bool { return s == "" }), ", "))
		}
		if !found[0].MediaType.IsIndex() {
			return index.Image(found[0].Digest)
		}
		if index, err = index.ImageIndex(found[0].Digest); err != nil {
			return nil, err
		}
		tag = ""
	}
	return nil, errors.New("its index refers only to other indexes")
}

// refName is the annotation with the name of an image in a layout (OCI image specification,
// "annotations.md").
const refName = "org.opencontainers.image.ref.name"
