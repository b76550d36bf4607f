typedef struct tree { struct tree *left, *right; int key; unsigned few : 3, more : 5; } tree;
typedef int (*visit)(tree *, void *);
enum color { RED = -1, GREEN = 2 };
union number { int i; double d; };
struct big {
	char name[10];
	union number n;
	enum color c;
	struct { int a, b; } in;
	tree t[2];
	long double wide;
	_Bool ok;
	int rest[];
};

int walk(tree *t, visit v, void *context)
{
	return t ? walk(t->left, v, context) + v(t, context) : 0;
}

enum color big_color(const struct big *b, ...) { return b->c; }

static const char *const names[2] = { "a", "b" };
const char *name(int i) { return names[i]; }
struct big one = { "x" };
_Thread_local int depth;
extern __typeof(name) also_name __attribute__((alias("name")));
