package analyzer

import (
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// The report and its parts; see package result.
type (
	Report   = result.Report
	Tool     = result.Tool
	Verdict  = result.Verdict
	Outcome  = result.Outcome
	Target   = result.Target
	Artifact = result.Artifact
	Wheel    = result.Wheel
	Finding  = result.Finding
	Range    = result.Range
	Severity = result.Severity
	Accepted = result.Accepted
)

// Verdicts of a report or a target; see package result.
const (
	Compatible   = result.Compatible
	Incompatible = result.Incompatible
	Unchecked    = result.Unchecked
	NotJudged    = result.NotJudged
)

// Outcomes of a report; see package result.
const (
	OutcomePass  = result.Pass
	OutcomeFail  = result.Fail
	OutcomeError = result.Failed
)

// Severities of findings; see package result.
const (
	Error   = result.Error
	Warning = result.Warning
	Note    = result.Note
	Off     = result.Off
)

// Cause is what one person did or has to change, with its findings, evidence and fixes.
type Cause = result.Cause

// CauseFix is a fix of a cause, with how many of its findings it removes.
type CauseFix = result.CauseFix

// Evidence is a row of a cause's table.
type Evidence = result.Evidence

// Plan is the smallest known set of fixes that together leave no error.
type Plan = result.Plan

// Schema names the shape of the JSON that Report marshals to.
const Schema = result.Schema

// NewReport returns an empty report of a version of compat.
func NewReport(version string) *Report { return result.New(version) }

// Files counts the files in a list, which may name one file for several reasons.
func Files(us []Unread) int { return result.Files(us) }

// Demangle returns the C++ or Rust name of a symbol, "" where it is not mangled.
func Demangle(symbol string) string { return result.Demangle(symbol) }

// Versioned writes a symbol as tools do: name@VERSION, or the bare name.
func Versioned(symbol, version string) string { return result.Versioned(symbol, version) }

// Count writes a number with its noun: "1 symbol", "3 symbols".
func Count(n int, noun string) string { return result.Count(n, noun) }

// Input is a file to check. Its content must stay readable until Check returns.
type Input = facts.Input

// Unread is a file that could not be read, or, in Report.Skipped, one that compat does not check.
type Unread = facts.Unread

// Object is one ELF file of an artifact.
type Object = facts.Object

// The rules and what they see; see package judge.
type (
	Compared = judge.Compared
	Rule     = judge.Rule
	Pass     = judge.Pass
	View     = judge.View
	LinkUser = judge.LinkUser
)

// PolicyNone is the policy under which libraries are not compared.
const PolicyNone = judge.PolicyNone

// The environment of the artifacts; see package judge.
type (
	Folder = judge.Folder
	Conda  = judge.Conda
	Origin = judge.Origin
	GPU    = judge.GPU
)

// MachObject is one Mach-O file of an artifact.
type MachObject = facts.MachObject

// Host is the kind of program that loads an object.
type Host = facts.Host

// Hosts of objects; see package facts.
const (
	HostNone    = facts.HostNone
	HostPython  = facts.HostPython
	HostNode    = facts.HostNode
	HostJava    = facts.HostJava
	HostUnknown = facts.HostUnknown
)

// Kinds of artifacts; see package facts.
const (
	KindWheel   = facts.KindWheel
	KindArchive = facts.KindArchive
	KindObject  = facts.KindObject
)

// MaxFindings is how many findings of one rule on one object are listed.
const MaxFindings = judge.MaxFindings

// NumPy1 is the build of a module that works with NumPy 1 only.
const NumPy1 = facts.NumPy1

// Chain lists the paths of libraries for a finding.
func Chain(libraries ...*dynlink.Library) []string { return judge.Chain(libraries...) }

// Alternatives reports whether the program loads only one of two objects; see judge.Alternatives.
func Alternatives(a, b *View) bool { return judge.Alternatives(a, b) }

// Extinct reports whether no system as old as a platform is supported any more; see judge.Extinct.
func Extinct(p *platform.Platform) bool { return judge.Extinct(p) }

// OlderRelease reports whether one release of a libc or of CPython is older than another.
func OlderRelease(a, b string) bool { return judge.OlderRelease(a, b) }

// WindowsObject is a PE file as the loader of Windows sees it; see package judge.
type WindowsObject = judge.WindowsObject
