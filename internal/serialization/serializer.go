// Package serialization writes any Go value as self-describing JSON and reads it back with its types, and copies values
// deeply.
//
// Package compose stores graph checkpoints with it and copies graph state; package schema registers the types that may
// stand behind interfaces. It must never panic or grow without bound on bytes from elsewhere.
//
// # Format
//
// A document is {"weft":1,"value":V}. Where the Go type is known from the context, a value is plain JSON: structs are
// objects of their exported fields by Go name (zero ones are left out), byte slices and arrays are base64, maps with
// string keys are objects and other maps lists of [key, value] pairs, both sorted. Where the type is not known, at the
// top and in interfaces, a value is a pair ["type", V]; null, strings, booleans, numbers with a fraction or exponent
// (float64) and objects (map[string]any) stand for themselves. What JSON cannot say has a form of its own: a string
// that is not UTF-8 is ["base64"], a float that is no number is a string, and a pointer whose target may be null is a
// list of that target.
package serialization

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/weftgo/weft/internal/envelope"
	"github.com/weftgo/weft/internal/safe"
)

// formatVersion is the version of the format that Marshal writes. Unmarshal reads it and all before.
const formatVersion = 1

// InternalSerializer is the default serializer of graph checkpoints. Values behind interfaces, and the top-level value,
// must have registered types; see [GenericRegister]. It is safe for concurrent use, also with registrations.
type InternalSerializer struct{}

// Marshal returns v as a document. The bytes depend on the value alone. An error names the path of the value that
// cannot be written.
func (i *InternalSerializer) Marshal(v any) (data []byte, err error) {
	defer safe.Recover(&err)
	e := encoders.Get().(*encoder)
	defer e.release()
	e.buf = append(e.buf, `{"weft":`...)
	e.buf = strconv.AppendInt(e.buf, formatVersion, 10)
	e.buf = append(e.buf, `,"value":`...)
	start := len(e.buf)
	err = e.any(v)
	if errors.Is(err, errDeep) { // once more, looking for a cycle
		e.buf = e.buf[:start]
		e.track()
		err = e.any(v)
	}
	if err != nil {
		return nil, describe(err, reflect.TypeOf(v))
	}
	e.buf = append(e.buf, '}')
	return bytes.Clone(e.buf), nil
}

// Unmarshal decodes a document into the value that v points to and replaces it. The decoded value may differ from the
// target in the number of pointers, or have a type of the same kind or, if both are numeric, a value that fits.
// Struct fields that the type does not have are ignored.
func (i *InternalSerializer) Unmarshal(data []byte, v any) error {
	return unmarshal(&decoder{data: data}, v)
}

// UnmarshalStrict is Unmarshal for documents of which nothing may be lost: that the outermost struct has a field which its
// type does not have is an error. Structs inside of it, which may be the user's, are as in Unmarshal.
func (i *InternalSerializer) UnmarshalStrict(data []byte, v any) error {
	return unmarshal(&decoder{data: data, strict: true}, v)
}

func unmarshal(d *decoder, v any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("failed to unmarshal: %w", err)
		}
	}()
	defer safe.Recover(&err)
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return errors.New("value must be a non-nil pointer")
	}
	if err := d.header(); err != nil {
		return err
	}
	value, err := d.any()
	if err != nil {
		return describe(err, d.root)
	}
	if err := d.footer(); err != nil {
		return err
	}
	return assignTo(target.Elem(), reflect.ValueOf(value))
}

// header reads the document up to its value.
func (d *decoder) header() error {
	if err := d.member('{', "weft"); err != nil {
		return fmt.Errorf("not a document of this serializer: %w", err)
	}
	number, err := d.number()
	if err != nil {
		return err
	}
	version, err := strconv.Atoi(string(number))
	if err != nil || version < 1 {
		return d.errorf("bad format version %s", number)
	}
	if version > formatVersion {
		return fmt.Errorf("%w: data has format version %d, this program reads up to %d", envelope.ErrNewer, version,
			formatVersion)
	}
	return d.member(',', "value")
}

// member reads what opens a member of the document: a punctuation, the key and the colon.
func (d *decoder) member(punctuation byte, key string) error {
	if err := d.expect(punctuation); err != nil {
		return err
	}
	got, err := d.text()
	if err != nil {
		return err
	}
	if string(got) != key {
		return d.errorf("expected member %q, got %q", key, got)
	}
	return d.expect(':')
}

func (d *decoder) footer() error {
	if err := d.expect('}'); err != nil {
		return err
	}
	if d.peek() != 0 {
		return d.errorf("unexpected data after the document")
	}
	return nil
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// release returns the encoder to the pool, unless it has become big.
func (e *encoder) release() {
	if cap(e.buf) > 1<<20 {
		return
	}
	*e = encoder{buf: e.buf[:0], keys: e.keys[:0]}
	encoders.Put(e)
}
