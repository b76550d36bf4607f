// Command image writes the container image of a release as an OCI image layout, with an image for
// each platform and its SBOM in CycloneDX. The layers and the configuration are those that the
// Dockerfile describes, without a daemon or a base image. The same programs and certificates give
// the same bytes.
//
//	image -out DIR -version VERSION [-certificates FILE] linux/amd64=PROGRAM...
//
// DIR must not exist. The SBOM of an image has the tag VERSION-sbom-ARCHITECTURE and refers to the
// image as its subject (OCI distribution specification 1.1, "referrers").
package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the id of the user and group that the service runs as.
const user = 65532

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "folder of the image layout, which must not exist")
	version := flag.String("version", "", "version of the program and tag of the image")
	certificates := flag.String("certificates", "/etc/ssl/certs/ca-certificates.crt",
		"certificates of the authorities that the service trusts, in PEM")
	flag.Parse()
	if err := write(*out, *version, *certificates, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func write(out, version, certificates string, programs []string) error {
	if _, err := os.Stat(out); err == nil {
		return fmt.Errorf("-out: %s exists; remove it or give another folder", out)
	}
	trusted, err := os.ReadFile(certificates)
	if err != nil {
		return fmt.Errorf("-certificates: %w", err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	type tagged struct {
		v1.Image
		tag string
	}
	var boms []tagged
	for _, p := range programs {
		system, path, _ := strings.Cut(p, "=")
		platform, err := v1.ParsePlatform(system)
		if err != nil || platform.OS != "linux" || path == "" {
			return fmt.Errorf("%s: give linux/ARCHITECTURE=PROGRAM", p)
		}
		program, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		image, err := build(*platform, version, program, trusted)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: platform},
		})
		bom, err := attach(image, version, program)
		if err != nil {
			return err
		}
		boms = append(boms, tagged{bom, version + "-sbom-" + platform.Architecture})
	}
	dir, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	copied, err := asCopied(index)
	if err != nil {
		return err
	}
	name := func(tag string) layout.Option {
		return layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag})
	}
	if err := dir.AppendIndex(copied, name(version)); err != nil {
		return err
	}
	for _, bom := range boms {
		if err := dir.AppendImage(bom.Image, name(bom.tag)); err != nil {
			return err
		}
	}
	digest, err := copied.Digest()
	if err == nil {
		fmt.Printf("%s %s\n", digest, out)
	}
	return err
}

// copiedIndex is an index with other bytes.
type copiedIndex struct {
	original
	raw []byte
}

type original = v1.ImageIndex // the name of the field must not be that of its method

// asCopied returns an index with the bytes that skopeo writes for it, so that a copy has the same
// digest: it encodes an index again, with the fields in the order of the OCI specification and
// without artifactType.
func asCopied(index v1.ImageIndex) (v1.ImageIndex, error) {
	m, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	type descriptor struct {
		MediaType types.MediaType `json:"mediaType"`
		Digest    v1.Hash         `json:"digest"`
		Size      int64           `json:"size"`
		Platform  *v1.Platform    `json:"platform"`
	}
	out := struct {
		SchemaVersion int64           `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     []descriptor    `json:"manifests"`
	}{m.SchemaVersion, m.MediaType, nil}
	for _, d := range m.Manifests {
		out.Manifests = append(out.Manifests, descriptor{d.MediaType, d.Digest, d.Size, d.Platform})
	}
	raw, err := json.Marshal(out)
	return copiedIndex{index, raw}, err
}

// RawManifest implements v1.ImageIndex.
func (c copiedIndex) RawManifest() ([]byte, error) { return c.raw, nil }

// IndexManifest implements v1.ImageIndex.
func (c copiedIndex) IndexManifest() (*v1.IndexManifest, error) {
	return v1.ParseIndexManifest(bytes.NewReader(c.raw))
}

// Digest implements v1.ImageIndex.
func (c copiedIndex) Digest() (v1.Hash, error) { return partial.Digest(c) }

// Size implements v1.ImageIndex.
func (c copiedIndex) Size() (int64, error) { return partial.Size(c) }

// build returns the image for a platform.
func build(platform v1.Platform, version string, program, certificates []byte) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, files := range [][]tar.Header{
		{{Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Size: int64(len(certificates))}},
		{
			{Name: "data/", Mode: 0o755, Typeflag: tar.TypeDir, Uid: user, Gid: user},
			{Name: "data/tmp/", Mode: 0o755, Typeflag: tar.TypeDir, Uid: user, Gid: user},
		},
		{{Name: "compat", Mode: 0o755, Size: int64(len(program))}},
	} {
		content := program
		if strings.HasPrefix(files[0].Name, "etc/") {
			content = certificates
		}
		layer, err := layerOf(files, content)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant = platform.OS, platform.Architecture, platform.Variant
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config = config()
	file.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    "compat",
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(image, file)
}

// config returns what the Dockerfile sets (TestDockerfile).
func config() v1.Config {
	return v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Env:          []string{"COMPAT_DATA=/data", "TMPDIR=/data/tmp"},
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"8080": {}},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/compat", "serve", "--healthcheck"},
			Interval: 30 * time.Second,
			Timeout:  10 * time.Second,
		},
		Entrypoint: []string{"/compat"},
		Cmd:        []string{"serve"},
	}
}

// layerOf returns a layer with files, all of which have the time 0. The files that are not folders
// have the content.
func layerOf(files []tar.Header, content []byte) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range files {
		h.ModTime = time.Unix(0, 0)
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if h.Size == 0 {
			continue
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// bomType is the media type of CycloneDX in JSON.
const bomType = types.MediaType("application/vnd.cyclonedx+json")

// attach returns an artifact with the SBOM of an image.
func attach(image v1.Image, version string, program []byte) (v1.Image, error) {
	bom, err := billOfMaterials(version, program)
	if err != nil {
		return nil, err
	}
	artifact := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	artifact = mutate.ConfigMediaType(artifact, bomType)
	artifact, err = mutate.AppendLayers(artifact, static.NewLayer(bom, bomType))
	if err != nil {
		return nil, err
	}
	var subject v1.Descriptor
	subject.MediaType, err = image.MediaType()
	var err2, err3 error
	subject.Digest, err2 = image.Digest()
	subject.Size, err3 = image.Size()
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	with, ok := mutate.Subject(artifact, subject).(v1.Image)
	if !ok {
		return nil, errors.New("the subject of an image is not an image")
	}
	return with, nil
}
