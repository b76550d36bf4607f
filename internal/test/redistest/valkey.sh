#!/usr/bin/env bash
# Unpacks Valkey and the libraries that it needs from packages of Debian into a folder, without
# installing them, and writes the program FOLDER/valkey-server for COMPAT_REDIS_SERVER.
#
#   valkey.sh FOLDER [SUITE]      by default Debian 12's backports
#
# apt checks the signatures. It uses the mirror of this machine, and lists and settings of its own.
set -euo pipefail
mkdir -p "$1/lists/partial" "$1/archives/partial"
dir=$(realpath "$1")
suite=${2:-bookworm-backports}
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep '/debian/*$' | head -n 1)
signed='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
printf "deb $signed %s %s main\n" "$mirror" "$suite" "$mirror" "${suite%-backports}" >"$dir/sources"
apt=(apt-get -qq -o "Dir::Etc::SourceList=$dir/sources" -o Dir::Etc::SourceParts=-
	-o "Dir::State=$dir" -o "Dir::Cache=$dir" -o APT::Sandbox::User= -o Acquire::Languages=none)
"${apt[@]}" update
cd "$dir"
"${apt[@]}" download "valkey-tools/$suite" "valkey-server/$suite" libatomic1 libjemalloc2 liblzf1
for package in *.deb; do
	dpkg -x "$package" root
done
rm -rf ./*.deb lists archives ./*.bin
cat >valkey-server <<EOF
#!/bin/sh
LD_LIBRARY_PATH=$(echo "$dir"/root/usr/lib/*-linux-gnu) exec "$dir/root/usr/bin/valkey-server" "\$@"
EOF
chmod +x valkey-server
./valkey-server --version
