"""The C code of decisions, with places for sizes and numbers; `c_rules.py` fills it in."""

CORE = """
static void policy_core($observation, float *log_pi, float *scores)
{
    policy_core_network(observation, scores);
    $body
}
"""

ALONE = """
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    (void)state;
    policy_core(observation, log_pi, scores);
}
"""

INPUTS = """
/* what the controller's networks see first: $seen */
static void policy_inputs($observation, int32_t previous, const float *scores, float *x)
{
    policy_features(observation, x);
    $core
    policy_one_hot(previous, $choices, x + $last);
}
"""

MIXTURE = """
/* pi = mu delta(a_prev) + (1 - mu) pi_core, in logarithms */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    policy_core(observation, log_pi, scores);
    if (state->previous_action >= 0) {
        float x[$inputs], out[1];
        policy_inputs(observation, state->previous_action, scores, x);
        policy_network_0(x, out);
        const float log_release = $log_keep - policy_log_add_exp(0.0f, 2.0f * out[0]);
        const float log_share = $log_keep - policy_log_add_exp(0.0f, -2.0f * out[0]);
        const float log_mu = $log_mu;
        for (int i = 0; i < $choices; i++) {
            const float follow = log_release + log_pi[i];
            const int repeats = i == state->previous_action;
            log_pi[i] = repeats ? policy_log_add_exp(log_mu, follow) : follow;
        }
    }
    policy_copy(log_pi, $choices, scores);
}
"""

TWINS = """
/* $joined of the values of two critics */
static void policy_twin_values(const float *x, float *q)
{
    float other[$choices];
    policy_network_0(x, q);
    policy_network_1(x, other);
    for (int i = 0; i < $choices; i++) {
        q[i] = $value;
    }
}
"""

PREFERENCES = """
/* how much the core prefers its best action to each one */
static void policy_preferences(const float *scores, float *x)
{
    const float best = scores[policy_best(scores, $choices)];
    for (int i = 0; i < $choices; i++) {
        x[i] = log1pf((best - scores[i]) / $unit);
    }
}
"""

FIXED_PRICE = """
/* Q(s, a_prev, .), up to a constant; q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    policy_inputs(observation, state->previous_action, q, x);
    policy_twin_values(x, q);
    if (state->previous_action >= 0) {
        q[state->previous_action] += $price;
    }
}
"""

DIAL = """
/* Q(s, a_prev, .) at the price that is set, up to a constant; q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    const float price = state->price > 0.0f ? state->price : 0.0f;
    float share = price / $largest;
    share = share < 1.0f ? share : 1.0f; /* nothing beyond was learned */
    policy_inputs(observation, state->previous_action, q, x);
    x[$first] = log1pf(100.0f * share) * $scale;
    x[$first + 1] = sqrtf(share);
    x[$first + 2] = share;
    policy_twin_values(x, q);
    if (state->previous_action >= 0) {
        q[state->previous_action] += price;
    }
}

/* below a price of 0: by how much an action must be better than the core's */
static float policy_margin(const policy_state *state)
{
    if (!(state->price < 0.0f)) {
        return 0.0f;
    }
    return state->price <= -$largest ? $enough : -state->price;
}
"""

LIMIT_FEATURES = """
/* what the critics see of a limit and its tokens */
static void policy_limit_features(const policy_state *state, int64_t tokens, float *x)
{
    static const float waits[$waits] = {$wait_list};
    static const float horizons[$waits] = {$horizon_list};
    const int64_t full = $full, rate = policy_rate(state);
    const int is_free = rate >= POLICY_TOKEN;
    int64_t burst = policy_burst(state);
    tokens = is_free || tokens > full ? full : tokens;
    burst = is_free || burst > full ? full : burst;
    const float t = (float)tokens * 1e-6f, r = (float)rate * 1e-6f, b = (float)burst * 1e-6f;
    x[0] = log1pf(100.0f * r) * $scale;
    x[1] = is_free ? 1.0f : 0.0f;
    x[2] = t / $largest;
    x[3] = tokens >= POLICY_TOKEN ? 1.0f : 0.0f;
    x[4] = b / $largest;
    for (int i = 0; i < $waits; i++) {
        const float earned = r * horizons[i] + 1e-6f;
        const float missing = waits[i] > t ? waits[i] - t : 0.0f;
        x[5 + i] = earned / (earned + missing);
    }
}
"""

PLAN = """
/* Q(s, a_prev, .) with the tokens that are left; a switch without a token is impossible;
   q holds the core's scores before */
static void policy_values(const policy_state *state, $observation, float *q)
{
    float x[$inputs];
    const int32_t previous = state->previous_action;
    policy_inputs(observation, previous, q, x);
    policy_limit_features(state, policy_tokens_after(state, 0), x + $first);
    policy_twin_values(x, q);
    if (previous >= 0) {
        const float repeat = q[previous];
        if (policy_tokens(state) < POLICY_TOKEN) {
            for (int i = 0; i < $choices; i++) {
                q[i] = $impossible;
            }
        } else if (policy_rate(state) < POLICY_TOKEN) {
            policy_limit_features(state, policy_tokens_after(state, POLICY_TOKEN), x + $first);
            policy_twin_values(x, q);
        }
        q[previous] = repeat;
    }
}
"""

BEST = """
/* take the best action */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{$core
    policy_values(state, observation, scores);$margin
    policy_certain(policy_best(scores, $choices), $choices, log_pi);
}
"""

GATE = """
/* repeat the last action if that is worth as much as the core's action, else follow the core */
static void policy_decide(const policy_state *state, $observation,
                          float *log_pi, float *scores)
{
    const int32_t previous = state->previous_action;
    policy_core(observation, log_pi, scores);
    int32_t action = policy_best(log_pi, $choices);
    policy_values(state, observation, scores);$margin
    if (previous >= 0 && scores[previous] >= scores[action]) {
        action = previous;
    }$begin
    policy_certain(action, $choices, log_pi);
}
"""
MARGIN = "\n    scores[action] += policy_margin(state);"
CORE_ACTION = """
    int32_t action = 0;
    if (state->price < 0.0f) { /* only a margin asks for the core's action */
        policy_core(observation, log_pi, scores);
        action = policy_best(log_pi, $choices);
    }"""
CRITICS_BEGIN = " if (previous < 0) {\n        action = policy_best(scores, $choices);\n    }"
