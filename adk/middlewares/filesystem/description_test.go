package filesystem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/filesystem"
)

// TestDescriptions_PromiseOnlyWhatIsTrue: nothing refuses an edit or a write of a file that was not read before, so
// no description may say so.
// Rule batteries/B13.37.
func TestDescriptions_PromiseOnlyWhatIsTrue(t *testing.T) {
	for _, description := range []string{ReadFileToolDesc, WriteFileToolDesc, EditFileToolDesc,
		ReadFileToolDescChinese, WriteFileToolDescChinese, EditFileToolDescChinese} {
		for _, promise := range []string{"will error", "will fail", "must have", "system-reminder", "reminder", "warning",
			"会报错", "将失败", "警告", "提醒"} {
			require.NotContains(t, description, promise)
		}
	}
	files := filesystem.NewInMemoryBackend()
	does := func(name, arguments string) string {
		t.Helper()
		got, err := run(t, &MiddlewareConfig{Backend: files}, name, arguments)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, "Updated file /a", does("write_file", `{"file_path":"/a","content":"old"}`))
	require.Equal(t, "Updated file /a", does("write_file", `{"file_path":"/a","content":"other"}`),
		"without reading it first")
	require.Equal(t, "Successfully replaced the string in '/a'",
		does("edit_file", `{"file_path":"/a","old_string":"other","new_string":""}`))
	require.Equal(t, "There is nothing to read: /a is empty, or ends before line 1.", does("read_file", `{"file_path":"/a"}`))
}
