#include "go_asm.h"
#include "textflag.h"

// Registers: BX has the bits, CX their number, SI and DI are where input and output continue, R8
// and R9 the tables of literals and distances, R10 and R11 the limits of SI and DI, AX an entry of
// a table. R12 has the bits before the symbol was taken from them.

// Eight bytes of input are added to the bits, of which 56 to 63 are valid then.
#define REFILL \
	MOVQ  (SI), DX;           \
	SHLXQ CX, DX, DX;         \
	ORQ   DX, BX;             \
	MOVQ  CX, DX;             \
	SHRQ  $3, DX;             \
	SUBQ  DX, SI;             \
	ADDQ  $7, SI;             \
	ORQ   $56, CX

// The entry of the next literal or length.
#define LOOKUP \
	MOVL BX, AX;                          \
	ANDL $((1<<const_literalBits)-1), AX; \
	MOVL (R8)(AX*4), AX

// The bits of an entry are taken: the code and its extra bits.
#define TAKE \
	MOVQ    BX, R12;     \
	SHRXQ   AX, BX, BX;  \
	MOVBLZX AL, DX;      \
	SUBQ    DX, CX

// The value of an entry and its extra bits, which are among the bits in "from".
#define VALUE(from, to) \
	BZHIQ AX, from, to;         \
	MOVL  AX, DX;               \
	SHRL  $const_codeShift, DX; \
	SHRXQ DX, to, to;           \
	SHRL  $const_valueShift, AX; \
	ADDQ  AX, to

#define WRITE \
	SHRL $const_valueShift, AX; \
	MOVB AX, (DI);              \
	INCQ DI

// func decodeFast(r *Reader, enough, full int) (corrupt bool)
TEXT ·decodeFast(SB), NOSPLIT, $8-25
	MOVQ r+0(FP), DX
	MOVQ Reader_in(DX), SI
	MOVQ enough+8(FP), R10
	ADDQ SI, R10
	ADDQ Reader_pos(DX), SI
	MOVQ Reader_out(DX), DI
	MOVQ DI, begin-8(SP)
	MOVQ full+16(FP), R11
	ADDQ DI, R11
	ADDQ Reader_made(DX), DI
	MOVQ Reader_bits(DX), BX
	MOVQ Reader_count(DX), CX
	LEAQ Reader_literals(DX), R8
	LEAQ Reader_distances(DX), R9
	REFILL
	LOOKUP
	JMP  symbol

	PCALIGN $32
next:
	CMPQ SI, R10
	JHI  done
	CMPQ DI, R11
	JHI  done
	REFILL

symbol:
	// Three codes have at most 45 bits.
	TAKE
	TESTL $const_literal, AX
	JZ    other
	WRITE
	LOOKUP
	TAKE
	TESTL $const_literal, AX
	JZ    other
	WRITE
	LOOKUP
	TAKE
	TESTL $const_literal, AX
	JZ    other
	WRITE
	LOOKUP
	JMP   next

other:
	TESTL $const_odd, AX
	JNZ   oddSymbol

length:
	VALUE(R12, R13)
	// After two literals and a length, 14 bits remain.
	MOVL  BX, AX
	ANDL  $((1<<const_distanceBits)-1), AX
	MOVL  (R9)(AX*4), AX
	REFILL
	TESTL $const_odd, AX
	JNZ   oddDistance

distance:
	// R12 becomes the distance, DX the source, R13 the end of the match.
	TAKE
	BZHIQ AX, R12, R12
	MOVL  AX, DX
	SHRL  $const_codeShift, DX
	SHRXQ DX, R12, R12
	SHRL  $const_valueShift, AX
	ADDQ  AX, R12
	LOOKUP
	MOVQ  DI, DX
	SUBQ  R12, DX
	CMPQ  DX, begin-8(SP)
	JCS   corrupt
	ADDQ  DI, R13
	CMPQ  R12, $16
	JCS   near

	// Up to 15 bytes too many are written, which are overwritten later; most matches need one
	// iteration.
copy16:
	MOVOU (DX), X0
	MOVOU X0, (DI)
	ADDQ  $16, DX
	ADDQ  $16, DI
	CMPQ  DI, R13
	JCS   copy16
	MOVQ  R13, DI
	JMP   next

near:
	CMPQ R12, $1
	JEQ  run
	CMPQ R12, $8
	JCS  short
	MOVL $8, R12

	// Of the bytes that are copied, the first R12 are right.
short:
	MOVQ (DX), X0
	MOVQ X0, (DI)
	ADDQ R12, DX
	ADDQ R12, DI
	CMPQ DI, R13
	JCS  short
	MOVQ R13, DI
	JMP  next

run:
	MOVBLZX    (DX), R12
	MOVQ       $0x0101010101010101, DX
	IMULQ      DX, R12
	MOVQ       R12, X0
	PUNPCKLQDQ X0, X0

run16:
	MOVOU X0, (DI)
	ADDQ  $16, DI
	CMPQ  DI, R13
	JCS   run16
	MOVQ  R13, DI
	JMP   next

oddSymbol:
	// The entry of a second-level table has no bits: none were taken.
	TESTL $const_second, AX
	JZ    back
	SHRL  $const_valueShift, AX
	MOVQ  r+0(FP), DX
	MOVL  Reader_literalMore(DX), DX
	MOVQ  BX, R13
	SHRQ  $const_literalBits, R13
	ANDL  R13, DX
	ADDL  DX, AX
	MOVL  (R8)(AX*4), AX
	TAKE
	TESTL $const_literal, AX
	JNZ   long
	TESTL $const_odd, AX
	JZ    length

back:
	MOVQ    R12, BX
	MOVBLZX AL, DX
	ADDQ    DX, CX
	JMP     done

long:
	WRITE
	LOOKUP // 19 bits remain
	JMP next

oddDistance:
	TESTL $const_second, AX
	JZ    corrupt
	SHRL  $const_valueShift, AX
	MOVQ  r+0(FP), DX
	MOVL  Reader_distanceMore(DX), DX
	MOVQ  BX, R12
	SHRQ  $const_distanceBits, R12
	ANDL  R12, DX
	ADDL  DX, AX
	MOVL  (R9)(AX*4), AX
	TESTL $const_odd, AX
	JZ    distance
	JMP   corrupt

done:
	MOVB $0, corrupt+24(FP)

store:
	MOVQ r+0(FP), DX
	SUBQ Reader_in(DX), SI
	MOVQ SI, Reader_pos(DX)
	SUBQ Reader_out(DX), DI
	MOVQ DI, Reader_made(DX)
	MOVQ BX, Reader_bits(DX)
	MOVQ CX, Reader_count(DX)
	RET

corrupt:
	MOVB $1, corrupt+24(FP)
	JMP  store
