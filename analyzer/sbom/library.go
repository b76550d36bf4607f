package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// grafted matches the name of a library that auditwheel copied into a wheel: libz.so.1.2.11 becomes
// libz-eb09ad1d.so.1.2.11 (auditwheel/repair.py, copylib).
var grafted = lazyregexp.New(`^([^./]+)-[0-9a-f]{8}(\.[^/]*)$`)

// Original returns the file name that a library had before auditwheel copied it, "" if its name
// does not show that auditwheel did.
func Original(file string) string {
	m := grafted.FindStringSubmatch(path.Base(file))
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// folders are where auditwheel finds libraries of the packages that it lists.
var folders = []string{
	"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib64", "/usr/local/lib",
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/lib/i386-linux-gnu", "/usr/lib/i386-linux-gnu",
}

// Files are the libraries of a wheel, for Files.Of.
type Files struct {
	byDigest map[string]string // of a path in folders
	byName   map[string][]string
}

// NewFiles returns the libraries with these paths in a wheel.
func NewFiles(paths []string) *Files {
	f := &Files{byDigest: map[string]string{}, byName: map[string][]string{}}
	for _, at := range paths {
		if name := Original(at); name != "" {
			for _, folder := range folders {
				sum := sha256.Sum256([]byte(folder + "/" + name))
				f.byDigest[hex.EncodeToString(sum[:])] = at
			}
		}
		if p := projectOf(at); p != nil {
			for _, n := range p.names {
				f.byName[n] = append(f.byName[n], at)
			}
		}
	}
	return f
}

// Of returns the libraries that a component is about, in the order of the paths; nil if that is not
// known. auditwheel identifies a library by the digest of its path on the build machine, in the ref
// of the component: "pkg:rpm/almalinux/libXau@1.0.9-3.el8#ac77887f…" (auditwheel/sboms.py). Other
// components are found by the names of a few projects.
func (f *Files) Of(c Component) []string {
	if _, digest, ok := strings.Cut(c.Ref, "#"); ok && len(digest) == 2*sha256.Size {
		if at := f.byDigest[digest]; at != "" {
			return []string{at}
		}
		return nil
	}
	return f.byName[simple(c.Name)]
}

// Type is the first part of the package URL, "rpm" for pkg:rpm/almalinux/libXau@1.0.9; "" if there
// is none.
func (c Component) Type() string {
	rest, ok := strings.CutPrefix(c.PURL, "pkg:")
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(kind)
}

// languages are types of package URLs whose packages are no shared libraries.
var languages = []string{"cargo", "composer", "gem", "golang", "maven", "npm", "nuget", "pypi"}

// OfLanguage reports whether it is a package of a language, as a build tool lists them from a lock
// file.
func (c Component) OfLanguage() bool { return slices.Contains(languages, c.Type()) }

// distributed are types of package URLs whose versions have a release of the distribution.
var distributed = []string{"rpm", "deb", "apk"}

// project is a library of which a file shows the version.
type project struct {
	files []string // names before ".so"
	names []string // of components, as simple returns them
	// The numbers after ".so." are the version, if there are at least this many; 0 = they are not.
	suffix int
	text   *lazyregexp.Regexp // of the constant with the version, as its group; nil = none is known
	// The versions of its symbols, without the numbers; "" = they have others.
	nodes string
}

// Constants with versions.
var (
	openssl = lazyregexp.New(
		`OpenSSL ([0-9]+\.[0-9]+\.[0-9]+[a-z]?) +(?:FIPS +)?[0-9]{1,2} [A-Z][a-z]{2} [0-9]{4}`)
	deflate   = lazyregexp.New(` deflate ([0-9]+(?:\.[0-9]+){1,3}) Copyright`)
	png       = lazyregexp.New(`libpng version ([0-9]+\.[0-9]+\.[0-9]+)(?: - |\x00|\n)`)
	tiff      = lazyregexp.New(`LIBTIFF, Version ([0-9]+\.[0-9]+\.[0-9]+)\n`)
	jpegTurbo = lazyregexp.New(`libjpeg-turbo version ([0-9]+\.[0-9]+(?:\.[0-9]+)?) \(`)
	curl      = lazyregexp.New(`libcurl/([0-9]+\.[0-9]+\.[0-9]+)\x00`)
	ssh2      = lazyregexp.New(`SSH-2\.0-libssh2_([0-9]+\.[0-9]+\.[0-9]+)\r`)
)

// projects are libraries that wheels bundle, with where their files show the version.
var projects = []project{
	{
		files: []string{"libcrypto", "libssl"}, suffix: 3, text: openssl,
		names: []string{"openssl", "openssllibs", "libssl3", "libcrypto3", "libssl11"},
		nodes: "OPENSSL_",
	},
	{
		files: []string{"libz"}, suffix: 3, text: deflate,
		names: []string{"zlib", "zlib1g", "libz"}, nodes: "ZLIB_",
	},
	{files: []string{"libzstd"}, suffix: 3, names: []string{"zstd", "libzstd", "libzstd1"}},
	{
		files: []string{"liblzma"}, suffix: 3,
		names: []string{"xz", "xzlibs", "liblzma", "liblzma5", "xzutils"},
	},
	{files: []string{"libbz2"}, suffix: 3, names: []string{"bzip2", "bzip2libs", "libbz2"}},
	{
		files: []string{"libbrotlicommon", "libbrotlidec", "libbrotlienc"}, suffix: 3,
		names: []string{"brotli", "libbrotli", "libbrotli1"},
	},
	{files: []string{"liblz4"}, suffix: 3, names: []string{"lz4", "lz4libs", "liblz41", "liblz4"}},
	{
		files: []string{"libopenjp2"}, suffix: 3,
		names: []string{"openjpeg", "openjpeg2", "libopenjp27"},
	},
	{files: []string{"libgeos"}, suffix: 3, names: []string{"geos", "libgeos"}},
	{files: []string{"libsnappy"}, suffix: 3, names: []string{"snappy", "libsnappy", "libsnappy1v5"}},
	{
		files: []string{"libpng16", "libpng"}, text: png,
		names: []string{"libpng", "libpng16", "png"},
	},
	{
		files: []string{"libtiff"}, text: tiff,
		names: []string{"libtiff", "tiff", "libtiff6", "libtiff5"},
	},
	{
		files: []string{"libjpeg"}, text: jpegTurbo,
		names: []string{"libjpegturbo"},
	},
	{
		files: []string{"libcurl"}, text: curl,
		names: []string{"curl", "libcurl", "libcurl4"},
	},
	{
		files: []string{"libssh2"}, text: ssh2,
		names: []string{"libssh2", "libssh21"},
	},
}

// projectOf returns what is known of a library, nil if nothing is.
func projectOf(file string) *project {
	name := path.Base(file)
	if o := Original(name); o != "" {
		name = o
	}
	stem, _, _ := strings.Cut(name, ".")
	for i, p := range projects {
		if slices.Contains(p.files, stem) {
			return &projects[i]
		}
	}
	return nil
}

// simple is a name without what projects write differently: "Xz-Libs" is "xzlibs".
func simple(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_. ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// ShowsText reports whether the constants of a library of that name may contain its version, for
// ReadText.
func ShowsText(file string) bool {
	p := projectOf(file)
	return p != nil && p.text != nil
}

// number matches a version at the beginning of a text.
var number = lazyregexp.New(`^[0-9]{1,6}(\.[0-9]{1,6}){1,4}[a-z]?`)

// ReadText returns the version that constants of a library contain, "" if they contain none.
func ReadText(file string, constants []byte) string {
	p := projectOf(file)
	if p == nil || p.text == nil {
		return ""
	}
	at := p.text.FindSubmatchIndex(constants)
	if at == nil {
		return ""
	}
	return string(constants[at[2]:at[3]])
}

// Shown is what a library shows of its version.
type Shown struct {
	File  string   // its path
	Text  string   // the result of ReadText
	Nodes []string // the versions of its symbols
}

// Versions of a library, and where it shows them.
const (
	ByText    = "text"
	ByName    = "name"
	BySymbols = "symbols"
)

// Differs returns the version of a library and where it shows it, if the component has another one.
// It returns "" if they are the same, or if one of them is not known.
//
// Of the versions of symbols it uses only that they are not newer than the library, and of packages
// of distributions not even that, because these add symbols of later releases.
func Differs(c Component, s Shown) (version, where string) {
	p := projectOf(s.File)
	listed := upstream(c)
	if p == nil || listed == "" {
		return "", ""
	}
	if s.Text != "" {
		if same(listed, s.Text) {
			return "", ""
		}
		return s.Text, ByText
	}
	if p.suffix > 0 {
		name := Original(s.File)
		if name == "" {
			name = path.Base(s.File)
		}
		_, after, _ := strings.Cut(name, ".so.")
		if v := number.FindString(after); v == after && strings.Count(v, ".") >= p.suffix-1 {
			if same(listed, v) {
				return "", ""
			}
			return v, ByName
		}
	}
	if p.nodes == "" || slices.Contains(distributed, c.Type()) {
		return "", ""
	}
	newest := ""
	for _, n := range s.Nodes {
		v, ok := strings.CutPrefix(n, p.nodes)
		v = strings.ReplaceAll(v, "_", ".")
		if ok && number.FindString(v) == v && (newest == "" || compare(v, newest) > 0) {
			newest = v
		}
	}
	if newest != "" && compare(newest, listed) > 0 {
		return newest, BySymbols
	}
	return "", ""
}

// upstream is the version of a component without what a distribution adds, "" if it is no number.
func upstream(c Component) string {
	v := c.Version
	if _, rest, ok := strings.Cut(v, ":"); ok { // epoch
		v = rest
	}
	v = strings.TrimPrefix(v, "v")
	return number.FindString(v)
}

// same reports whether versions are of one release. Letters of old releases of OpenSSL are compared
// if both have one.
func same(a, b string) bool {
	if compare(a, b) != 0 {
		return false
	}
	x, y := letter(a), letter(b)
	return x == "" || y == "" || x == y
}

func letter(v string) string { return strings.TrimLeft(v, "0123456789.") }

// compare compares the numbers of two versions; missing ones are 0.
func compare(a, b string) int {
	x := strings.Split(strings.TrimSuffix(a, letter(a)), ".")
	y := strings.Split(strings.TrimSuffix(b, letter(b)), ".")
	at := func(list []string, i int) int {
		if i >= len(list) {
			return 0
		}
		n, _ := strconv.Atoi(list[i])
		return n
	}
	for i := range max(len(x), len(y)) {
		if d := at(x, i) - at(y, i); d != 0 {
			return d
		}
	}
	return 0
}
