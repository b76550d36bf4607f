package rules

import (
	"slices"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/result"
)

var hashMismatch = &analyzer.Rule{
	ID:       analyzer.RuleHash,
	Title:    "A pinned version has other hashes than the wheel on the index",
	Severity: analyzer.Error,
	Doc: `A lock file or a requirements file pins a version with hashes, and the index has a wheel for
the platform whose SHA-256 is not among them. pip then ends with "THESE PACKAGES DO NOT MATCH THE
HASHES FROM THE REQUIREMENTS FILE", and uv with "Hash mismatch". That happens if the version of a
pin was changed and its hashes were not, if a file was published again, or if the file was written
on another system and has the hashes of its wheels only. Where several wheels fit, the one that pip
chooses among those with a listed hash is checked.

A requirement without a hash is reported too, if other requirements of the file have one: pip
refuses the whole file.

Compared are the files of compat env, those with which compat check FILE is given --lock or
--requirement, and those of a pull request whose pins the App reviews.

Fix: write the hashes again with the tool that wrote the file. If neither the version nor the
platform was changed, find out first why the index has another file.

Severity: a warning where the hash of the source archive is listed, which pip then builds. What it
builds is not checked.

Not detected: hashes of other algorithms than SHA-256, or where the index has no SHA-256; packages
that a file takes from an index that compat was not given; wheels whose address the lock file has
(uv.lock, pylock.toml), if they are too large to be downloaded as a whole, because the page of the
index is not read for them. compat check FILE compares hashes for systems with glibc only.`,
	Environment: checkHashes,
	Cause: cause.Rule{
		Subject: notFor, Kind: &cause.Kind{
			Task: func(*cause.Text) cause.Task {
				return cause.Task{Actor: result.Installer, Do: "update the hashes in the lock file"}
			},
			Advice: func(_ *cause.Text, where string) string {
				return "Update the hashes of " + where + ", if you know why they differ."
			},
			NotShipped: true,
		},
		Warns: "pip builds the source archive, whose hash is listed",
	},
	References: []string{
		"pip documentation: Secure installs, Hash-checking Mode",
		"Simple repository API (PEP 503, PEP 691): hashes of files",
		"PEP 751: A file format to record Python dependencies for installation reproducibility",
	},
}

// checkHashes reports pins of which there is a wheel, but not with a hash that the file has.
func checkHashes(p *analyzer.EnvironmentPass) {
	reportPins(p, slices.DeleteFunc(slices.Clone(p.NoWheel), func(w analyzer.NoWheel) bool {
		return !w.Hash
	}))
}
