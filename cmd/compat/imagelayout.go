package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/mdsafe"
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

// descriptor refers to content of a layout (OCI image specification, "descriptor.md").
type descriptor struct {
	Digest       string            `json:"digest"`
	ArtifactType string            `json:"artifactType"`
	Annotations  map[string]string `json:"annotations"`
	Platform     *struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	} `json:"platform"`
}

// imageTypes are the media types of the configuration of images. Some programs also write them as
// the artifact type of images.
var imageTypes = []string{
	"application/vnd.oci.image.config.v1+json",
	"application/vnd.docker.container.image.v1+json",
}

// manifest has the members of an index and of the manifest of an image.
type manifest struct {
	Manifests []descriptor `json:"manifests,omitempty"`
	Config    *descriptor  `json:"config,omitempty"`
	Layers    []descriptor `json:"layers,omitempty"`
}

// refName is the annotation with the name of an image in a layout (OCI image specification,
// "annotations.md").
const refName = "org.opencontainers.image.ref.name"

// maxManifest is the limit for an index or manifest in bytes, as registries have it.
const maxManifest = 4 << 20

// saveImage writes an image of a layout as a tar of a layout with that image only. Without a tag
// the layout must have one image, or one for this architecture.
func saveImage(f *os.File, dir, tag string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	image, parts, err := chooseImage(root, tag)
	if err != nil {
		return err
	}
	index, err := json.Marshal(manifest{Manifests: []descriptor{image}})
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	h := &tar.Header{Name: "index.json", Mode: 0o644, Size: int64(len(index))}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if _, err := w.Write(index); err != nil {
		return err
	}
	saved := map[string]bool{} // a layer may occur twice
	for _, d := range append([]descriptor{image}, parts...) {
		if saved[d.Digest] {
			continue
		}
		saved[d.Digest] = true
		if err := saveBlob(w, root, d.Digest); err != nil {
			return err
		}
	}
	return w.Close()
}

// saveBlob adds content to a tar. Its SHA-256 must be the one in its name.
func saveBlob(w *tar.Writer, root *os.Root, digest string) error {
	name, err := blobPath(digest)
	if err != nil {
		return err
	}
	b, err := root.Open(name)
	if err != nil {
		return err
	}
	defer b.Close()
	info, err := b.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), b); err != nil {
		return err
	}
	return checkSum(sum, digest)
}

var sha256Digest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// blobPath returns the path of content in a layout.
func blobPath(digest string) (string, error) {
	if !sha256Digest.MatchString(digest) {
		return "", fmt.Errorf("digest %s is not sha256 and 64 hexadecimal digits",
			mdsafe.Visible(digest))
	}
	return "blobs/" + strings.Replace(digest, ":", "/", 1), nil
}

func checkSum(sum hash.Hash, digest string) error {
	if found := "sha256:" + hex.EncodeToString(sum.Sum(nil)); found != digest {
		return fmt.Errorf("the content of %s is damaged: its digest is %s", digest, found)
	}
	return nil
}

// readManifest reads an index or manifest: index.json with digest "".
func readManifest(root *os.Root, digest string) (m manifest, err error) {
	name := "index.json"
	if digest != "" {
		if name, err = blobPath(digest); err != nil {
			return m, err
		}
	}
	f, err := root.Open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return m, err
	}
	if len(data) > maxManifest {
		return m, fmt.Errorf("%s has more than %d bytes, the limit for a manifest", name, maxManifest)
	}
	if digest != "" {
		sum := sha256.New()
		sum.Write(data)
		if err := checkSum(sum, digest); err != nil {
			return m, err
		}
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s is not a JSON manifest: %w", name, err)
	}
	return m, nil
}

// chooseImage returns an image of a layout, and its layers and configuration. The image may be in
// an index of the index: one index per tag with one image per platform is usual.
func chooseImage(root *os.Root, tag string) (image descriptor, parts []descriptor, err error) {
	m, err := readManifest(root, "")
	for range 4 { // nested indexes
		if err != nil {
			return descriptor{}, nil, err
		}
		var found []descriptor
		var tags []string
		for _, d := range m.Manifests {
			name := d.Annotations[refName]
			switch {
			case d.Platform != nil && d.Platform.OS == "unknown": // an attestation
				continue
			case d.ArtifactType != "" && !slices.Contains(imageTypes, d.ArtifactType): // an SBOM
				continue
			case tag == "" || name == tag:
				found = append(found, d)
			}
			tags = append(tags, name)
		}
		if len(found) > 1 {
			found = slices.DeleteFunc(found, func(d descriptor) bool {
				return d.Platform == nil || d.Platform.OS != "linux" ||
					d.Platform.Architecture != runtime.GOARCH
			})
		}
		if len(found) != 1 {
			slices.Sort(tags)
			return descriptor{}, nil, fmt.Errorf("name one of its images, as %sDIR:TAG (TAG is %s)",
				imageLayout, strings.Join(slices.DeleteFunc(slices.Compact(tags),
					func(s string) bool { return s == "" }), ", "))
		}
		image = found[0]
		if m, err = readManifest(root, image.Digest); err == nil && len(m.Manifests) == 0 {
			if m.Config != nil {
				m.Layers = append(m.Layers, *m.Config)
			}
			return image, m.Layers, nil
		}
		tag = ""
	}
	return descriptor{}, nil, errors.New("its index refers only to other indexes")
}
