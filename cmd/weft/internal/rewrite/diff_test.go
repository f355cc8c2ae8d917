package rewrite

import "testing"

func TestDiff_HasHunksWithContext(t *testing.T) {
	before := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n"
	after := "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nm\nn"
	want := `--- f
+++ f
@@ -1,5 +1,5 @@
 a
-b
+B
 c
 d
 e
@@ -9,5 +9,5 @@
 i
 j
 k
-l
 m
+n
\ No newline at end of file
`
	if got := diff("f", []byte(before), []byte(after)); got != want {
		t.Errorf("the diff is\n%s", got)
	}
}

func TestDiff_JoinsHunksThatTouch(t *testing.T) {
	want := "--- f\n+++ f\n@@ -1,5 +1,5 @@\n-a\n+A\n b\n c\n d\n-e\n+E\n"
	if got := diff("f", []byte("a\nb\nc\nd\ne\n"), []byte("A\nb\nc\nd\nE\n")); got != want {
		t.Errorf("the diff is\n%s", got)
	}
}
