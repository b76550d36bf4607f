#!/bin/bash -eu
# Builds each fuzz test of the project, as FOLDER_NAME, with its corpus. compile_native_go_fuzzer
# comes with the image.
cd "$SRC/compat"
printf 'package compat\n\nimport _ "github.com/AdamKorcz/go-118-fuzz-build/testing"\n' >fuzz_register.go
go mod tidy
make -s fuzz-list | while read -r folder name; do
	target=$(tr / _ <<<"$folder")_$name
	compile_native_go_fuzzer "github.com/compat-app/compat/$folder" "$name" "$target"
	if [ -d "$folder/testdata/fuzz/$name" ]; then
		zip -qj "$OUT/${target}_seed_corpus.zip" "$folder/testdata/fuzz/$name"/*
	fi
done
