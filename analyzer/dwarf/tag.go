package dwarf

// Tag is the tag of an entry, a DW_TAG_ value.
type Tag uint32

// Tags of types and interfaces.
const (
	TagArray           Tag = 0x01
	TagClass           Tag = 0x02
	TagEnumeration     Tag = 0x04
	TagParameter       Tag = 0x05
	TagMember          Tag = 0x0d
	TagPointer         Tag = 0x0f
	TagReference       Tag = 0x10
	TagCompileUnit     Tag = 0x11
	TagStruct          Tag = 0x13
	TagSubroutine      Tag = 0x15
	TagTypedef         Tag = 0x16
	TagUnion           Tag = 0x17
	TagVariadic        Tag = 0x18
	TagVariant         Tag = 0x19
	TagInheritance     Tag = 0x1c
	TagMemberPointer   Tag = 0x1f
	TagSubrange        Tag = 0x21
	TagBase            Tag = 0x24
	TagConst           Tag = 0x26
	TagEnumerator      Tag = 0x28
	TagSubprogram      Tag = 0x2e
	TagTemplateType    Tag = 0x2f
	TagVariantPart     Tag = 0x33
	TagVariable        Tag = 0x34
	TagVolatile        Tag = 0x35
	TagRestrict        Tag = 0x37
	TagInterface       Tag = 0x38
	TagNamespace       Tag = 0x39
	TagModule          Tag = 0x1e
	TagImportedUnit    Tag = 0x3d
	TagUnspecified     Tag = 0x3b
	TagPartialUnit     Tag = 0x3c
	TagTypeUnit        Tag = 0x41
	TagRvalueReference Tag = 0x42
	TagAtomic          Tag = 0x47
	TagSkeletonUnit    Tag = 0x4a
	TagImmutable       Tag = 0x4b
	TagParameterPack   Tag = 0x4107 // DW_TAG_GNU_template_parameter_pack
)
