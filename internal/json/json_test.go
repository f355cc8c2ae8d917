package json

import "testing"

func TestBothImplementationsAgree(t *testing.T) {
	got, err := MarshalString(map[string]any{"b": "<b>&", "a": []int{1}, "c": nil})
	if want := `{"a":[1],"b":"<b>&","c":null}`; err != nil || got != want {
		t.Fatalf("got %s, %v; want %s", got, err, want)
	}
	for _, text := range []string{"", " ", `{"a":1} x`, `{"a":`, `nul`} {
		var v any
		if err := UnmarshalString(text, &v); err == nil {
			t.Errorf("%q decoded to %v without an error", text, v)
		}
	}
	var v struct{ FieldName int }
	if err := Unmarshal([]byte(`{"fieldname":7,"other":1}`), &v); err != nil || v.FieldName != 7 {
		t.Fatalf("keys must match without regard to case and unknown ones be ignored: %+v, %v", v, err)
	}
}
