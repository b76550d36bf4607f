package queue

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// interpreter executes the scripts of an embedded queue, one at a time.
type interpreter struct {
	state   *lua.LState
	scripts map[string]*lua.FunctionProto
	txn     *txn // of the script that runs
}

func newInterpreter() (*interpreter, error) {
	texts, err := scriptTexts()
	if err != nil {
		return nil, err
	}
	in := &interpreter{
		state:   lua.NewState(lua.Options{SkipOpenLibs: true}),
		scripts: map[string]*lua.FunctionProto{},
	}
	for name, text := range texts {
		chunk, err := parse.Parse(strings.NewReader(text), name)
		if err != nil {
			return nil, err
		}
		if in.scripts[name], err = lua.Compile(chunk, name); err != nil {
			return nil, err
		}
	}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		in.state.Push(in.state.NewFunction(open))
		in.state.Push(lua.LString(name))
		in.state.Call(1, 0)
	}
	redis := in.state.NewTable()
	redis.RawSetString("call", in.state.NewFunction(in.call))
	in.state.SetGlobal("redis", redis)
	return in, nil
}

// run executes a script, and returns its result as the client returns that of Redis.
func (in *interpreter) run(t *txn, part partition, name string, args []string) (any, error) {
	in.txn = t
	in.state.SetGlobal("KEYS", in.list([]string{string(part)}))
	in.state.SetGlobal("ARGV", in.list(args))
	in.state.Push(in.state.NewFunctionFromProto(in.scripts[name]))
	if err := in.state.PCall(0, 1, nil); err != nil {
		return nil, fmt.Errorf("%s.lua: %w", name, err)
	}
	defer in.state.Pop(1)
	return result(in.state.Get(-1)), nil
}

func (in *interpreter) list(texts []string) *lua.LTable {
	list := in.state.CreateTable(len(texts), 0)
	for _, s := range texts {
		list.Append(lua.LString(s))
	}
	return list
}

// call is redis.call of the scripts.
func (in *interpreter) call(state *lua.LState) int {
	args := make([]string, state.GetTop())
	for i := range args {
		switch v := state.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(v)
		case lua.LNumber:
			args[i] = numberText(float64(v))
		default:
			state.RaiseError("%s is called with a %s", args[0], v.Type())
		}
	}
	answer, err := in.txn.call(args)
	if err != nil {
		state.RaiseError("%s", err.Error())
	}
	state.Push(in.value(answer))
	return 1
}

// numberText returns a number as Redis does: with 17 significant digits.
func numberText(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e17 {
		return strconv.FormatInt(int64(n), 10)
	}
	return strconv.FormatFloat(n, 'g', 17, 64)
}

// value converts the answer of a command.
func (in *interpreter) value(answer any) lua.LValue {
	switch v := answer.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		list := in.state.CreateTable(len(v), 0)
		for _, each := range v {
			list.Append(in.value(each))
		}
		return list
	}
	return lua.LFalse // Redis has it for nil
}

// result converts what a script returns.
func result(v lua.LValue) any {
	switch v := v.(type) {
	case lua.LNumber:
		return int64(v)
	case lua.LString:
		return string(v)
	case *lua.LTable:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = result(v.RawGetInt(i + 1))
		}
		return list
	}
	return nil
}
