// Package rules holds what compat judges by: one file, one rule, one folder testdata/<rule-id>.
//
// To add a rule, write its file with a variable of type *analyzer.Rule, put it in All, and add a
// case that shows it and one that stays quiet.
package rules

import "github.com/compat-app/compat/analyzer"

// All lists every rule in the order in which they report.
func All() []*analyzer.Rule {
	return []*analyzer.Rule{
		symbolVersionTooNew,
		symbolMissingInPackage,
		symbolMissingInFolder,
		gpuStackMismatch,
		gpuArchMissing,
		cudaMajorMixed,
		libraryNotFound,
		undefinedSymbol,
		numpyABIMismatch,
		linkUndefinedReference,
		linkLibraryNotFound,
		linkHiddenSymbol,
		linkTLSMismatch,
		bundledLibraryNotReachable,
		versionNeedWithoutLibrary,
		relrWithoutVersion,
		executableStack,
		isaLevel,
		textRelocations,
		wrongArchitecture,
		interpreterNotFound,
		extensionSuffix,
		abi3Violation,
		metadataMismatch,
		recordMismatch,
		duplicateLibrary,
		exportedRuntime,
		tagTooHigh,
		cudaDriverMinimum,
		exportedSymbolRemoved,
		openedByName,
		noSectionHeaders,
	}
}

// IDs lists the rule ids, for configuration.
func IDs() []string {
	var ids []string
	for _, r := range All() {
		ids = append(ids, r.ID)
	}
	return ids
}
