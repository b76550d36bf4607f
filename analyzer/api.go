package analyzer

import (
	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/judge"
	"github.com/compat-app/compat/analyzer/result"
)

// Types of the report; see package result.
type (
	Report   = result.Report
	Tool     = result.Tool
	Verdict  = result.Verdict
	Outcome  = result.Outcome
	Target   = result.Target
	Artifact = result.Artifact
	// Accounting is what became of the imports of objects; Undecided is why that is not known.
	Accounting = result.Accounting
	Undecided  = result.Undecided
	Wheel      = result.Wheel
	Needs      = result.Needs
	Finding    = result.Finding
	Range      = result.Range
	Severity   = result.Severity
	Accepted   = result.Accepted
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

// Cause is something that one person has to change, with its findings, evidence and fixes.
type Cause = result.Cause

// CauseFix is a fix of a cause, with the number of findings that it removes.
type CauseFix = result.CauseFix

// Evidence is a row of a cause's table.
type Evidence = result.Evidence

// Plan is the smallest known set of fixes that together remove all errors.
type Plan = result.Plan

// Schema is the name of the JSON format of a Report.
const Schema = result.Schema

// NewReport returns an empty report. version is that of compat.
func NewReport(version string) *Report { return result.New(version) }

// Files returns the number of distinct files in a list.
func Files(us []Unread) int { return result.Files(us) }

// Demangle returns the C++ or Rust name of a symbol, or "" if it is not mangled.
func Demangle(symbol string) string { return result.Demangle(symbol) }

// Versioned returns name@VERSION, or only the name if version is "".
func Versioned(symbol, version string) string { return result.Versioned(symbol, version) }

// Count returns a number with its noun: "1 symbol", "3 symbols".
func Count(n int, noun string) string { return result.Count(n, noun) }

// Plural returns the form of a word for a number of things: "does" for 1, "do" for others.
func Plural(n int, one, many string) string { return result.Plural(n, one, many) }

// And joins names: "a", "a and b", "a, b and c". It is "" for none.
func And(names []string) string { return result.And(names) }

// List joins the first names of a list: "a, b and 3 more files". total is the number of all names,
// of which names may be only the first; at most shown are named. noun is what they name, in the
// singular.
func List(names []string, shown, total int, noun string) string {
	return result.List(names, shown, total, noun)
}

// Input is a file to check. Its content must stay readable until Check returns.
type Input = facts.Input

// Unread is a file that could not be read or, in Report.Skipped, that compat does not check.
type Unread = facts.Unread

// Object is an ELF file of an artifact.
type Object = facts.Object

// SBOM is a software bill of materials in a wheel.
type SBOM = facts.SBOM

// Rules and their input; see package judge.
type (
	Compared = judge.Compared
	Rule     = judge.Rule
	Pass     = judge.Pass
	View     = judge.View
	// Global is a library that the import of another package makes visible to all others.
	Global = judge.Global
	// Dependency is a library of another package that objects load.
	Dependency = judge.Dependency
	Before     = judge.Before
	LinkUser   = judge.LinkUser
	// EnvironmentPass is the input of rules about environments.
	EnvironmentPass = judge.EnvironmentPass
)

// What is known about an environment before it is checked; see package judge.
type (
	NoWheel      = judge.NoWheel
	Broken       = judge.Broken
	CondaPackage = judge.CondaPackage
)

// PolicyNone is the policy for not comparing libraries.
const PolicyNone = judge.PolicyNone

// The environment of the artifacts; see package judge.
type (
	Folder = judge.Folder
	Conda  = judge.Conda
	Origin = judge.Origin
	GPU    = judge.GPU
)

// Facts is an artifact that was read.
type Facts = facts.Artifact

// MachObject is a Mach-O file of an artifact.
type MachObject = facts.MachObject

// Host is the kind of program that loads an object.
type Host = facts.Host

// Values of Host; see package facts.
const (
	HostNone    = facts.HostNone
	HostPython  = facts.HostPython
	HostUnknown = facts.HostUnknown
)

// Kinds of artifacts; see package facts.
const (
	KindWheel   = facts.KindWheel
	KindArchive = facts.KindArchive
	KindObject  = facts.KindObject
)

// MaxFindings is the maximum number of findings of a rule for an object.
const MaxFindings = judge.MaxFindings

// NumPy1 is the NumPyBuild of a module that works only with NumPy 1.
const NumPy1 = facts.NumPy1

// Lxml is the module of lxml that contains libxml2.
const Lxml = facts.Lxml

// NumPyError is what a module does if the import of NumPy's C API fails.
type NumPyError = facts.NumPyError

// Values of NumPyError.
const (
	NumPyRaises   = facts.NumPyRaises
	NumPyCompares = facts.NumPyCompares
	NumPyCatches  = facts.NumPyCatches
)

// Chain returns the paths of libraries for Finding.Chain.
func Chain(libraries ...*dynlink.Library) []string { return judge.Chain(libraries...) }

// Alternatives reports whether a program loads only one of two objects; see judge.Alternatives.
func Alternatives(a, b *View) bool { return judge.Alternatives(a, b) }

// AndroidObject is an ELF file as the linker of Android sees it; see package judge.
type AndroidObject = judge.AndroidObject

// IOSObject is a Mach-O file of a wheel for iOS; see package judge.
type IOSObject = judge.IOSObject

// PythonFramework is the library of Python in an app of iOS; see package judge.
const PythonFramework = judge.PythonFramework

// PyodideObject is a WebAssembly module as the linker of Emscripten sees it; see package judge.
type PyodideObject = judge.PyodideObject

// WindowsObject is a PE file as the Windows loader sees it; see package judge.
type WindowsObject = judge.WindowsObject
