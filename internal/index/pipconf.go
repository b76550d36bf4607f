package index

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Configured is the configuration of installers on this machine.
type Configured struct {
	URLs  []string // the index and the extra indexes; empty = none is configured
	From  []string // for each, what names it: "PIP_INDEX_URL"
	Netrc string   // path of the netrc file, which may not exist; "" = none
	// Certificates is the path of a PEM file with the certificate authorities to trust instead of
	// those of the system; "" = those of the system
	Certificates string
	Proxy        string // address of the proxy; "" = that of HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	Keyring      bool   // see Options
}

// Options returns the options for one of the URLs, or for another one.
func (c Configured) Options(url string) Options {
	return Options{
		URL: url, Netrc: c.Netrc, Certificates: c.Certificates, Proxy: c.Proxy, Keyring: c.Keyring,
	}
}

// maxConfig limits the bytes of a configuration file.
const maxConfig = 1 << 20

// Find returns the chosen indexes, without those that are "". OfPip is that of PipDefault. If there
// are none, it returns those that pip and uv are configured for: the first of PIP_INDEX_URL,
// UV_DEFAULT_INDEX, UV_INDEX_URL, index-url of pip's configuration files and the default index of
// uv's, and all extra indexes (PIP_EXTRA_INDEX_URL, UV_INDEX, UV_EXTRA_INDEX_URL, extra-index-url,
// index). There is no default.
//
// The certificates are those of PIP_CERT, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE, SSL_CERT_FILE or
// pip's setting cert; the proxy is that of PIP_PROXY or pip's setting proxy. The keyring is used if
// PIP_KEYRING_PROVIDER, UV_KEYRING_PROVIDER or the setting keyring-provider is "subprocess". It
// returns an error if a configuration file cannot be read.
func Find(chosen []string, getenv func(string) (string, bool)) (Configured, error) {
	env := func(name string) string {
		v, _ := getenv(name)
		return strings.TrimSpace(v)
	}
	c := Configured{Netrc: env("NETRC")}
	add := func(u, from string) {
		if u != "" && !slices.Contains(c.URLs, u) {
			c.URLs, c.From = append(c.URLs, u), append(c.From, from)
		}
	}
	for _, u := range chosen {
		from := "--index-url"
		if u == OfPip {
			if u, from = PipDefault(getenv); u == "" {
				return c, errors.New("no pip is installed here that names its index; give its address " +
					"with --index-url or PIP_INDEX_URL")
			}
		}
		add(u, from)
	}
	named := len(c.URLs) > 0
	if home := env("HOME"); c.Netrc == "" && home != "" {
		c.Netrc = filepath.Join(home, ".netrc")
	}
	file, err := pipConfig(env)
	if err != nil && !named {
		return c, err
	}
	c.Certificates = cmp.Or(env("PIP_CERT"), env("REQUESTS_CA_BUNDLE"), env("CURL_CA_BUNDLE"),
		env("SSL_CERT_FILE"), file["cert"])
	c.Proxy = cmp.Or(env("PIP_PROXY"), file["proxy"])
	uv, err := uvConfig(env)
	if err != nil && !named {
		return c, err
	}
	c.Keyring = cmp.Or(env("PIP_KEYRING_PROVIDER"), env("UV_KEYRING_PROVIDER"),
		file["keyring-provider"], uv.Keyring) == "subprocess"
	switch {
	case named:
		return c, nil
	case truth(env("PIP_NO_INDEX")) || truth(file["no-index"]), uv.NoIndex:
		return c, nil
	}
	for _, main := range [][2]string{
		{env("PIP_INDEX_URL"), "PIP_INDEX_URL"},
		{env("UV_DEFAULT_INDEX"), "UV_DEFAULT_INDEX"},
		{env("UV_INDEX_URL"), "UV_INDEX_URL"},
		{file["index-url"], "index-url in the configuration of pip"},
		{uv.Main, "the default index in the configuration of uv"},
	} {
		if main[0] != "" {
			add(unnamed(main[0]), main[1])
			break
		}
	}
	extra := [2]string{env("PIP_EXTRA_INDEX_URL"), "PIP_EXTRA_INDEX_URL"}
	if extra[0] == "" {
		extra = [2]string{file["extra-index-url"], "extra-index-url in the configuration of pip"}
	}
	for _, x := range [][2]string{extra, {env("UV_INDEX"), "UV_INDEX"},
		{env("UV_EXTRA_INDEX_URL"), "UV_EXTRA_INDEX_URL"}} {
		for u := range strings.FieldsSeq(x[0]) {
			add(unnamed(u), x[1])
		}
	}
	for _, u := range uv.Extra {
		add(unnamed(u), "an index in the configuration of uv")
	}
	return c, nil
}

// unnamed removes the optional name of a uv index: "NAME=https://…".
func unnamed(u string) string {
	name, rest, ok := strings.Cut(u, "=")
	if ok && !strings.ContainsAny(name, ":/") {
		return rest
	}
	return u
}

func truth(s string) bool {
	return slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(s))
}

// pipConfig reads pip's configuration files in the order of pip/_internal/configuration.py: those
// of the system, of the user and of the virtual environment, then PIP_CONFIG_FILE, which replaces
// those of the user if it exists. Later files override earlier ones, and [install] of any file
// overrides [global] of all.
func pipConfig(env func(string) string) (map[string]string, error) {
	own := env("PIP_CONFIG_FILE")
	if own == os.DevNull { // disables all configuration files
		return nil, nil
	}
	var files []string
	for _, d := range filepath.SplitList(cmp.Or(env("XDG_CONFIG_DIRS"), "/etc/xdg")) {
		files = append(files, filepath.Join(d, "pip", "pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	_, err := os.Stat(own)
	if home := env("HOME"); home != "" && err != nil {
		files = append(
			files,
			filepath.Join(home, ".pip", "pip.conf"),
			filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")),
				"pip", "pip.conf"),
		)
	}
	if venv := env("VIRTUAL_ENV"); venv != "" {
		files = append(files, filepath.Join(venv, "pip.conf"))
	}
	if own != "" {
		files = append(files, own)
	}
	all, install := map[string]string{}, map[string]string{}
	for _, f := range files {
		data, err := readConfig(f)
		if err != nil {
			return nil, fmt.Errorf(
				"pip's configuration %s: %w; correct the file, or set PIP_CONFIG_FILE=/dev/null, so that no "+
					"configuration file is read",
				f,
				err,
			)
		}
		sections := parsePipConfig(string(data))
		maps.Copy(all, sections["global"])
		maps.Copy(install, sections["install"])
	}
	maps.Copy(all, install)
	return all, nil
}

// readConfig reads a configuration file; nil for one that does not exist or may not be read.
func readConfig(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		err == nil && info.IsDir() {
		return nil, nil
	}
	if err == nil && info.Size() > maxConfig {
		err = fmt.Errorf("it has more than %d MB; no configuration is that large", maxConfig>>20)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// uvSettings are settings of uv's configuration files.
type uvSettings struct {
	Main    string   // the default index
	Extra   []string // further indexes
	NoIndex bool
	Keyring string
}

// uvFile is a configuration file of uv (uv's documentation, "Configuration files" and "Package
// indexes").
type uvFile struct {
	IndexURL      string   `toml:"index-url"`
	ExtraIndexURL []string `toml:"extra-index-url"`
	NoIndex       bool     `toml:"no-index"`
	Keyring       string   `toml:"keyring-provider"`
	Index         []struct {
		URL      string
		Default  bool
		Explicit bool // only for packages that name it
	}
}

// uvConfig reads uv's configuration files: that of the project, which is the nearest uv.toml or
// pyproject.toml with a table [tool.uv] in this folder or above it, then those of the user and of
// the system. Settings of earlier files are preferred, and lists are joined. UV_CONFIG_FILE
// replaces all files; UV_NO_CONFIG disables them.
func uvConfig(env func(string) string) (all uvSettings, err error) {
	if truth(env("UV_NO_CONFIG")) {
		return all, nil
	}
	var files []string
	if own := env("UV_CONFIG_FILE"); own != "" {
		files = []string{own}
	} else {
		dir, err := os.Getwd()
		if err != nil {
			return all, err
		}
		for ; ; dir = filepath.Dir(dir) {
			found, err := all.addFiles(filepath.Join(dir, "uv.toml"), filepath.Join(dir, "pyproject.toml"))
			if err != nil {
				return all, err
			}
			if found || dir == filepath.Dir(dir) {
				break
			}
		}
		if home := env("HOME"); home != "" {
			files = append(files, filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"),
				filepath.Join(home, ".config")), "uv", "uv.toml"))
		}
		for _, d := range append(filepath.SplitList(env("XDG_CONFIG_DIRS")), "/etc") {
			files = append(files, filepath.Join(d, "uv", "uv.toml"))
		}
	}
	for _, f := range files {
		if _, err := all.addFiles(f); err != nil {
			return all, err
		}
	}
	return all, nil
}

// addFiles adds the settings of the first file that exists and has any. found is false if there is
// none.
func (s *uvSettings) addFiles(paths ...string) (found bool, err error) {
	for _, path := range paths {
		data, err := readConfig(path)
		var file *uvFile
		switch {
		case err == nil && data == nil:
			continue
		case err != nil:
		case filepath.Base(path) == "pyproject.toml":
			var project struct{ Tool struct{ UV *uvFile } }
			// Other tools report errors in this file.
			if toml.Unmarshal(data, &project) != nil || project.Tool.UV == nil {
				continue
			}
			file = project.Tool.UV
		default:
			file = &uvFile{}
			err = toml.Unmarshal(data, file)
		}
		if err != nil {
			return false, fmt.Errorf("uv's configuration %s: %w; correct it, or set UV_NO_CONFIG=1",
				path, err)
		}
		s.add(file)
		return true, nil
	}
	return false, nil
}

func (s *uvSettings) add(f *uvFile) {
	main := f.IndexURL
	for _, x := range f.Index {
		switch {
		case x.URL == "" || x.Explicit:
		case x.Default:
			main = x.URL
		default:
			s.Extra = append(s.Extra, x.URL)
		}
	}
	s.Main = cmp.Or(s.Main, main)
	s.Extra = append(s.Extra, f.ExtraIndexURL...)
	s.NoIndex = s.NoIndex || f.NoIndex
	s.Keyring = cmp.Or(s.Keyring, f.Keyring)
}

// parsePipConfig parses the syntax of Python's configparser as pip uses it: sections, "key =
// value" or "key: value", continuation lines and comments. Keys are normalized to dashes.
func parsePipConfig(text string) map[string]map[string]string {
	all := map[string]map[string]string{}
	section, key := "", ""
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		switch {
		case content == "":
			key = ""
		case content[0] == '#' || content[0] == ';':
		case (line[0] == ' ' || line[0] == '\t') && key != "":
			all[section][key] = strings.TrimSpace(all[section][key] + " " + content)
		case content[0] == '[' && content[len(content)-1] == ']':
			section, key = content[1:len(content)-1], ""
		default:
			name, value := content, ""
			if i := strings.IndexAny(content, "=:"); i >= 0 {
				name, value = content[:i], content[i+1:]
			}
			key = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
			if all[section] == nil {
				all[section] = map[string]string{}
			}
			all[section][key] = strings.TrimSpace(value)
		}
	}
	return all
}
