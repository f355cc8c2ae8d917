package filesystem

// What the model reads about the tools, in Chinese.
const (
	// ListFilesToolDescChinese describes ls.
	ListFilesToolDescChinese = `列出一个目录中的直接内容：文件和子目录，每行一个名称，已排序。

- path 必须是绝对路径，不能是相对路径。
- 在读取或编辑之前先用它了解有哪些文件，不要猜测文件名。
- 不会进入子目录。要查找更深层的文件，请使用 glob。`

	// ReadFileToolDescChinese describes read_file.
	ReadFileToolDescChinese = `读取文件。

- file_path 必须是绝对路径，不能是相对路径。
- 不指定 offset 和 limit 时，返回前 2000 行。较大的文件请用 offset 和 limit 分页读取，不要一次读完。
- 结果采用 cat -n 格式：行号、制表符、文本。行号从 1 开始，不属于文件内容。
- 如果多个文件可能有用，可以在一次回复中发起多个调用批量读取。
- 编辑文件之前先读取它。
- 用户提到的路径可能有误：文件不存在时会返回错误，可以用 ls 或 glob 找到正确的路径。`

	// EnhancedReadFileDescSuffixChinese is added to the description of a read_file that shows images and PDFs.
	EnhancedReadFileDescSuffixChinese = `
- 此工具支持多模态（multimodal）：PNG、JPEG 等图片会以图像形式展示给你。
- PDF 文件（.pdf）会连同文字和图表展示给你。超过 10 页的 PDF 必须指定 pages，例如 "1-5"；一次调用最多读取 20 页。`

	// WriteFileToolDescChinese describes write_file.
	WriteFileToolDescChinese = `写入文件。

- file_path 必须是绝对路径。如果文件已存在，其内容会被 content 完全覆盖。
- 覆盖已有文件之前，先用 read_file 读取，避免丢失应保留的内容。
- 优先用 edit_file 修改已有文件，只在任务需要时才新建文件。
- 除非用户要求，不要编写文档（README、*.md）。
- 除非用户要求，文件中不要使用表情符号。`

	// EditFileToolDescChinese describes edit_file.
	EditFileToolDescChinese = `替换文件中的文本，要求精确匹配。

- 先用 read_file 读取文件：old_string 必须与文件当前内容逐字符一致。
- read_file 的结果中，行号和制表符之后才是文件文本。请原样保留其缩进（制表符和空格），old_string 和 new_string 中不要包含行号。
- old_string 必须在文件中恰好出现一次，否则编辑失败。可以包含更多上下文使其唯一，或设置 replace_all 替换所有出现。
- 在整个文件中重命名时使用 replace_all。
- 优先编辑而不是重写文件。除非用户要求，不要使用表情符号。`

	// GlobToolDescChinese describes glob.
	GlobToolDescChinese = `按名称查找文件，适用于任意大小的目录树。

- * 和 ? 匹配路径中某一段内的字符，** 匹配任意层目录，[a-z] 匹配集合中的一个字符，{a,b} 匹配其中之一。
- 示例：*.md 查找当前目录中的文件，**/*.go 查找任意深度的文件，src/**/*.{ts,tsx} 查找 src 之下的文件，/docs/*.txt 查找绝对路径下的文件。
- 结果每行一个路径，已排序，不含目录。
- 要搜索文件内容，请使用 grep。`

	// GrepToolDescChinese describes grep.
	GrepToolDescChinese = `用正则表达式搜索文件内容。

- 搜索文件内容时一律使用此工具，不要在 shell 中运行 grep 或 rg。
- pattern 是完整的正则表达式，例如 "log.*Error" 或 "func\s+\w+"。要搜索花括号本身需要转义：interface\{\} 可以找到 interface{}。
- 用 glob（例如 *.js 或 **/*.tsx）或 type（例如 go、py、rust）缩小范围。
- output_mode 为 "files_with_matches"（默认）时返回文件路径，"content" 返回匹配的行，"count" 返回每个文件的匹配数。
- 默认只在单行内匹配；multiline 为 true 时，struct \{[\s\S]*?field 之类的模式可以跨行匹配。
- head_limit 和 offset 用于只显示较长结果的一部分。`

	// ExecuteToolDescChinese describes execute.
	ExecuteToolDescChinese = `在 shell 中执行命令。

执行之前：
- 如果命令会创建文件或目录，先用 ls 确认目标目录存在且正确。
- 含空格的路径要加引号：cd "/home/user/My Files"、python "/path/with spaces/script.py"。

关于命令：
- 结果是合并的输出（stdout 和 stderr），命令失败时附退出码。过长的输出可能被截断。
- 文件工具能完成的事请用文件工具：用 glob 代替 find，用 grep 工具代替 grep 或 rg，用 read_file 代替 cat、head、tail，用 ls 工具代替 ls，用 edit_file 代替 sed。
- 有依赖关系的多条命令在一次调用中用 && 连接；只有前面失败后仍要继续时才用 ;。除引号内的文本外，不要用换行分隔命令。
- 保持工作目录不变：使用绝对路径，而不是 cd。

正确示例：
- pytest /project/tests
- make -C /project build && make -C /project test

错误示例：
- cd /project/tests && pytest（应使用绝对路径）
- cat /project/main.go（应使用 read_file）
- find / -name "*.py"（应使用 glob）
- grep -r TODO /project（应使用 grep 工具）`
)
