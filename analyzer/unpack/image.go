package unpack

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// The formats of docker save (manifest.json) and of the OCI image layout (index.json, blobs/).
// Layers are tars: a file in a layer replaces the file with the same name in a lower one, and
// whiteouts delete files of lower layers (OCI image specification, "layer.md").
const (
	maxManifest = 4 << 20
	maxLayers   = 1000 // container engines refuse more than 127
	maxFolders  = 200  // of LD_LIBRARY_PATH
	whiteout    = ".wh."
	opaque      = ".wh..wh..opq"
)

// imageStart matches the name of the first file or folder in the tar of an image, with which no
// other kind of tar starts.
var imageStart = lazyregexp.New(
	`^(\./)?(blobs/|oci-layout$|index\.json$|manifest\.json$|repositories$|[0-9a-f]{64}(/|\.json$|\.tar$)|sha256:[0-9a-f]{64}$)`,
)

// imageFile is an image's tar with the offset of each file.
type imageFile struct {
	r     io.ReaderAt
	files map[string]span
}

type span struct{ at, size int64 }

// isImage checks the first name in a tar, after that of the packed folder.
func (w *walker) isImage(r io.ReaderAt, size int64) bool {
	stream, done, err := w.decompress(io.NewSectionReader(r, 0, size))
	if err != nil {
		return false
	}
	defer done()
	tr := tar.NewReader(stream)
	h, err := tr.Next()
	if err == nil && h.Name == "./" { // tar -C LAYOUT -cf image.tar .
		h, err = tr.Next()
	}
	return err == nil && imageStart.MatchString(h.Name)
}

// image walks the file tree that the layers of an image form. done is false if the tar is not
// an image.
func (w *walker) image(
	pkg *Package,
	r io.ReaderAt,
	size int64,
	f format,
	depth int,
) (done bool, err error) {
	if f == formatPacked { // its files are not read in order
		whole := io.NewSectionReader(r, 0, size)
		stream, end, err := w.decompress(whole)
		if err != nil {
			return true, w.fileError(pkg.Path, err)
		}
		content, inflated, _, err := w.inflateAll(
			&entry{size: -1, metered: true},
			stream,
			w.own,
			nil,
			false,
			false,
		)
		end()
		if err != nil {
			return true, w.fileError(pkg.Path, err)
		}
		defer content.Close()
		r, size = content, inflated
	}
	image := w.places(r, size)
	m, others, err := image.manifest()
	if err != nil {
		if len(image.files) == 0 || !errors.Is(err, errNoImage) {
			w.problem(pkg.Path, "the container image is damaged: %v", err)
			return true, nil
		}
		return false, nil
	}
	if others > 0 {
		w.problem(
			pkg.Path,
			"it contains %d more images; only the first was read. Save each image to its own file",
			others,
		)
	}
	pkg.Format = FormatImage
	if pkg.LibraryPath, err = image.libraryPath(m.config); err != nil {
		w.problem(pkg.Path, "the container image is damaged: %v", err)
	}
	hidden := tree{}
	for _, name := range slices.Backward(m.layers) {
		s, ok := image.files[name]
		if !ok {
			w.problem(pkg.Path, "the container image is damaged: its layer %s is missing", Safe(name))
			continue
		}
		over := tree{}
		if err := w.layer(pkg, io.NewSectionReader(r, s.at, s.size), hidden, over, depth); err != nil {
			return true, err
		}
		for k := range over {
			hidden[k] = true
		}
	}
	return true, w.line.flush(w) // before the content is freed
}

// places lists the offsets of the files in a plain tar, up to the first damage.
func (w *walker) places(r io.ReaderAt, size int64) *imageFile {
	whole := io.NewSectionReader(r, 0, size)
	image := &imageFile{r: r, files: map[string]span{}}
	tr := tar.NewReader(whole)
	for len(image.files) < w.budget.entries && w.ctx.Err() == nil {
		h, err := tr.Next()
		if err != nil {
			break
		}
		at, err := whole.Seek(0, io.SeekCurrent)
		if err != nil || h.Typeflag != tar.TypeReg || sparse(h) || h.Size > size-at {
			continue
		}
		image.files[path.Clean(h.Name)] = span{at, h.Size}
	}
	return image
}

// errNoImage means that there is no manifest: the tar is not an image.
var errNoImage = errors.New("it has no manifest")

// imageManifest names the parts of an image.
type imageManifest struct {
	config string   // "" if there is none
	layers []string // lowest first
}

// manifest returns the manifest of the first image, and the number of other images.
func (i *imageFile) manifest() (out imageManifest, others int, err error) {
	var saved []struct {
		Config string
		Layers []string
	}
	switch err := i.decode("manifest.json", &saved); {
	case err == nil && len(saved) > 0:
		out = imageManifest{path.Clean(saved[0].Config), saved[0].Layers}
		return out, len(saved) - 1, tooMany(out.layers)
	case err != nil && !errors.Is(err, errNoImage):
		return out, 0, err
	}
	at := "index.json"
	for range 4 { // an index of indexes of manifests is the maximum
		var m struct {
			Config    struct{ Digest string }
			Layers    []struct{ Digest string }
			Manifests []struct {
				Digest   string
				Platform struct{ OS string }
			}
		}
		if err := i.decode(at, &m); err != nil {
			return out, 0, err
		}
		// Attestations are listed as images for an operating system "unknown".
		images := m.Manifests[:0]
		for _, x := range m.Manifests {
			if x.Platform.OS != "unknown" {
				images = append(images, x)
			}
		}
		if len(images) == 0 {
			out.config = blob(m.Config.Digest)
			for _, l := range m.Layers {
				out.layers = append(out.layers, blob(l.Digest))
			}
			return out, others, tooMany(out.layers)
		}
		at, others = blob(images[0].Digest), others+len(images)-1
	}
	return out, 0, errors.New("its index refers only to other indexes")
}

// libraryPath returns the folders of LD_LIBRARY_PATH in the configuration of an image (OCI image
// specification, "config.md"). An image without one sets nothing. Folders that are relative to the
// working directory are left out.
func (i *imageFile) libraryPath(config string) (folders []string, err error) {
	if _, ok := i.files[config]; !ok {
		return nil, nil
	}
	var image struct{ Config struct{ Env []string } }
	if err := i.decode(config, &image); err != nil {
		return nil, err
	}
	for _, variable := range image.Config.Env {
		value, ok := strings.CutPrefix(variable, "LD_LIBRARY_PATH=")
		if !ok {
			continue
		}
		// like ld.so
		separators := func(c rune) bool { return c == ':' || c == ';' }
		for _, dir := range strings.FieldsFunc(value, separators) {
			if path.IsAbs(dir) && len(folders) < maxFolders {
				folders = append(folders, path.Clean(dir))
			}
		}
	}
	return folders, nil
}

func tooMany(layers []string) error {
	if len(layers) > maxLayers {
		return fmt.Errorf("it has %d layers, more than the limit of %d", len(layers), maxLayers)
	}
	return nil
}

// blob returns the path of content in the layout: "sha256:12ab" is at blobs/sha256/12ab.
func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func (i *imageFile) decode(name string, into any) error {
	s, ok := i.files[name]
	switch {
	case !ok && (name == "manifest.json" || name == "index.json"):
		return errNoImage
	case !ok:
		return fmt.Errorf("%s is missing", Safe(name))
	case s.size > maxManifest:
		return fmt.Errorf(
			"%s has %s, more than the limit of %s",
			Safe(name),
			human(s.size),
			human(maxManifest),
		)
	}
	if err := json.NewDecoder(io.NewSectionReader(i.r, s.at, s.size)).Decode(into); err != nil {
		return fmt.Errorf("%s is not a JSON manifest: %w", Safe(name), err)
	}
	return nil
}

// tree is a set of paths that a layer hides in those below it. A path hides itself and its
// descendants; one that ends in a slash only the descendants.
type tree map[string]bool

// hides reports whether a path of a lower layer is hidden.
func (t tree) hides(name string) bool {
	if t[name] {
		return true
	}
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '/' && (t[name[:i]] || t[name[:i+1]]) {
			return true
		}
	}
	return t["/"]
}

// add adds an entry of a layer. It reports whether the entry is a whiteout, which is not a
// file.
func (t tree) add(name string) (gone bool) {
	dir, base := path.Split(name)
	switch {
	case base == opaque && dir == "":
		t["/"] = true
	case base == opaque:
		t[dir] = true
	case strings.HasPrefix(base, whiteout):
		t[dir+base[len(whiteout):]] = true
	default:
		t[name] = true
		return false
	}
	return true
}

// layer walks a layer without its hidden files; over collects the paths that it hides.
func (w *walker) layer(pkg *Package, part *io.SectionReader, hidden, over tree, depth int) error {
	return w.tarOf(&tarWalk{walker: w, pkg: pkg, depth: depth, hidden: hidden, over: over}, part)
}
