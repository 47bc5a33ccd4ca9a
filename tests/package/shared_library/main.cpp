extern "C" double plugin_sum(int count);

int main() { return plugin_sum(101) == 5050 && plugin_sum(0) == 0 ? 0 : 1; }
