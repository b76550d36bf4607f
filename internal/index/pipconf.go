package index

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Configured is the configuration of installers on this machine.
type Configured struct {
	URLs  []string // the index and the extra indexes; empty = none is configured
	Netrc string   // path of the netrc file, which may not exist; "" = none
	// Certificates is the path of a PEM file with the certificate authorities to trust instead of
	// those of the system; "" = those of the system
	Certificates string
	Proxy        string // address of the proxy; "" = that of HTTPS_PROXY, HTTP_PROXY and NO_PROXY
}

// Options returns the options for one of the URLs, or for another one.
func (c Configured) Options(url string) Options {
	return Options{URL: url, Netrc: c.Netrc, Certificates: c.Certificates, Proxy: c.Proxy}
}

// maxConfig limits the bytes of a pip.conf.
const maxConfig = 1 << 20

// Find returns the indexes that pip and uv are configured for: the first of chosen,
// PIP_INDEX_URL, UV_DEFAULT_INDEX, UV_INDEX_URL and index-url of pip's configuration files, and
// all extra indexes (PIP_EXTRA_INDEX_URL, UV_INDEX, UV_EXTRA_INDEX_URL, extra-index-url). There
// is no default. The certificates are those of PIP_CERT, REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE,
// SSL_CERT_FILE or pip's setting cert; the proxy is that of PIP_PROXY or pip's setting proxy. It
// returns an error if a configuration file cannot be read.
func Find(chosen string, getenv func(string) (string, bool)) (Configured, error) {
	env := func(name string) string {
		v, _ := getenv(name)
		return strings.TrimSpace(v)
	}
	c := Configured{Netrc: env("NETRC")}
	if home := env("HOME"); c.Netrc == "" && home != "" {
		c.Netrc = filepath.Join(home, ".netrc")
	}
	file, err := pipConfig(env)
	if err != nil && chosen == "" {
		return c, err
	}
	c.Certificates = cmp.Or(env("PIP_CERT"), env("REQUESTS_CA_BUNDLE"), env("CURL_CA_BUNDLE"),
		env("SSL_CERT_FILE"), file["cert"])
	c.Proxy = cmp.Or(env("PIP_PROXY"), file["proxy"])
	switch {
	case chosen != "":
		c.URLs = []string{chosen}
		return c, nil
	case truth(env("PIP_NO_INDEX")) || truth(file["no-index"]):
		return c, nil
	}
	mains := []string{
		env("PIP_INDEX_URL"),
		env("UV_DEFAULT_INDEX"),
		env("UV_INDEX_URL"),
		file["index-url"],
	}
	if i := slices.IndexFunc(mains, func(s string) bool { return s != "" }); i >= 0 {
		c.URLs = append(c.URLs, unnamed(mains[i]))
	}
	extra := env("PIP_EXTRA_INDEX_URL")
	if extra == "" {
		extra = file["extra-index-url"]
	}
	for _, u := range strings.Fields(extra + " " + env("UV_INDEX") + " " + env("UV_EXTRA_INDEX_URL")) {
		if u = unnamed(u); !slices.Contains(c.URLs, u) {
			c.URLs = append(c.URLs, u)
		}
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

// pipConfig reads pip's configuration files (pip's documentation, "Configuration Files"): global,
// user, virtual environment and PIP_CONFIG_FILE. Later files override earlier ones, and [install]
// overrides [global].
func pipConfig(env func(string) string) (map[string]string, error) {
	files := []string{"/etc/pip.conf"}
	for _, d := range filepath.SplitList(env("XDG_CONFIG_DIRS")) {
		files = append(files, filepath.Join(d, "pip", "pip.conf"))
	}
	if home := env("HOME"); home != "" {
		config := env("XDG_CONFIG_HOME")
		if config == "" {
			config = filepath.Join(home, ".config")
		}
		files = append(
			files,
			filepath.Join(home, ".pip", "pip.conf"),
			filepath.Join(config, "pip", "pip.conf"),
		)
	}
	if venv := env("VIRTUAL_ENV"); venv != "" {
		files = append(files, filepath.Join(venv, "pip.conf"))
	}
	switch own := env("PIP_CONFIG_FILE"); own {
	case "":
	case os.DevNull: // disables all configuration files
		files = nil
	default:
		files = append(files, own)
	}
	all := map[string]string{}
	for _, f := range files {
		info, err := os.Stat(f)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
			err == nil && info.IsDir() {
			continue
		}
		if err == nil && info.Size() > maxConfig {
			err = fmt.Errorf("it has more than %d MB; no pip.conf is that large", maxConfig>>20)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(f)
		}
		if err != nil {
			return nil, fmt.Errorf(
				"pip's configuration %s: %w; set PIP_CONFIG_FILE to another one, or to /dev/null for none",
				f,
				err,
			)
		}
		sections := parsePipConfig(string(data))
		for _, s := range []string{"global", "install"} {
			for _, key := range []string{"index-url", "extra-index-url", "no-index", "cert", "proxy"} {
				if v := sections[s][key]; v != "" {
					all[key] = v
				}
			}
		}
	}
	return all, nil
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
