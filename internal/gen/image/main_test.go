package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestDockerfile checks that the image is configured as the last stage of the Dockerfile says.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, stage, ok := strings.Cut(string(text), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not from scratch")
	}
	want, have := v1.Config{}, config()
	list := func(s string) (words []string) {
		if err := json.Unmarshal([]byte(s), &words); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		return words
	}
	// The program is that of "make image", which needs the history for its version.
	ignored, err := os.ReadFile(filepath.Join("..", "..", "..", ".dockerignore"))
	if err != nil || slices.Contains(strings.Fields(string(ignored)), ".git") ||
		!strings.Contains(string(text), "\nRUN make programs PLATFORMS=linux/$(go env GOARCH)") {
		t.Errorf("the Dockerfile builds another program than make image: %v\n%s", err, text)
	}
	for line := range strings.Lines(stage) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "USER":
			want.User = rest
		case "ENV":
			want.Env = strings.Fields(rest)
		case "VOLUME":
			want.Volumes = map[string]struct{}{rest: {}}
		case "EXPOSE":
			want.ExposedPorts = map[string]struct{}{rest: {}}
		case "ENTRYPOINT":
			want.Entrypoint = list(rest)
		case "CMD":
			want.Cmd = list(rest)
		case "HEALTHCHECK":
			var interval, timeout string
			options, command, _ := strings.Cut(rest, " CMD ")
			if _, err := fmt.Sscanf(options, "--interval=%s --timeout=%s", &interval, &timeout); err != nil {
				t.Fatal(err)
			}
			h := &v1.HealthConfig{Test: append([]string{"CMD"}, list(command)...)}
			h.Interval, _ = time.ParseDuration(interval)
			h.Timeout, _ = time.ParseDuration(timeout)
			want.Healthcheck = h
		case "COPY":
			f := strings.Fields(rest)
			to := strings.TrimPrefix(f[len(f)-1], "/")
			if !slices.Contains([]string{"etc/ssl/certs/ca-certificates.crt", "data", "compat"}, to) {
				t.Errorf("the image has no %s", to)
			}
		}
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(have)
	if !bytes.Equal(a, b) {
		t.Errorf("the Dockerfile says\n%s\nthe image has\n%s", a, b)
	}
}

// TestImage writes an image whose program is this test twice.
func TestImage(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	certificates := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(certificates, []byte("certificates\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var manifests [2][]byte
	dir := ""
	for i := range manifests {
		dir = filepath.Join(t.TempDir(), "image")
		if err := write(dir, "1.2.3", certificates,
			[]string{"linux/amd64=" + program, "linux/arm64=" + program}); err != nil {
			t.Fatal(err)
		}
		if manifests[i], err = os.ReadFile(filepath.Join(dir, "index.json")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(manifests[0], manifests[1]) {
		t.Errorf("two images differ:\n%s\n%s", manifests[0], manifests[1])
	}
	if err := write(dir, "1.2.3", certificates, nil); err == nil {
		t.Error("a folder that exists is written to")
	}

	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top, validate.Fast); err != nil {
		t.Error(err)
	}
	listed, err := top.IndexManifest()
	if err != nil || len(listed.Manifests) != 3 {
		t.Fatalf("%+v, %v", listed, err)
	}
	index, err := top.ImageIndex(listed.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	images, err := index.IndexManifest()
	if err != nil || len(images.Manifests) != 2 {
		t.Fatalf("%+v, %v", images, err)
	}
	// skopeo keeps the digest of an index that it would encode in the same way.
	raw, err := index.RawManifest()
	if err != nil || bytes.Contains(raw, []byte("artifactType")) || !bytes.HasPrefix(raw, []byte(
		`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[`+
			`{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:`)) {
		t.Errorf("the index is %s, %v", raw, err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if p := images.Manifests[i].Platform; p.String() != "linux/"+arch {
			t.Errorf("image %d is for %s", i, p)
		}
		image, err := index.Image(images.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		f, err := image.ConfigFile()
		if err != nil || f.Architecture != arch || f.Config.User != "65532:65532" {
			t.Errorf("%s: %+v, %v", arch, f, err)
		}
		if name := listed.Manifests[i+1].Annotations["org.opencontainers.image.ref.name"]; name !=
			"1.2.3-sbom-"+arch {
			t.Errorf("%s: the SBOM has the tag %q", arch, name)
		}
		bom, err := top.Image(listed.Manifests[i+1].Digest)
		if err != nil {
			t.Fatal(err)
		}
		m, err := bom.Manifest()
		if err != nil || m.Subject == nil || m.Subject.Digest != images.Manifests[i].Digest {
			t.Errorf("%s: the SBOM has the subject %+v, %v", arch, m.Subject, err)
		}
	}
}

func TestBillOfMaterials(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := billOfMaterials("1.2.3", program)
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool {
		return strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/google/go-containerregistry@v")
	})
	if !found || bom.Metadata.Component.Version != "1.2.3" {
		t.Errorf("%s", text)
	}
	if _, err := billOfMaterials("1.2.3", []byte("x")); err == nil {
		t.Error("a file that is no program has an SBOM")
	}
}
