// time_counter: a clock beside it, in which seconds and ns never wait for their carry, has the same time in every cycle. From there: time
// never goes back but in a step, a second has 1e9 ns, a remainder and a slew are exact.
module time_counter_formal
  import time_pkg::*;
(
    input logic clk,
    input logic rst,

    input rate_t        rate_i,
    input time_t        value_i,
    input logic         set_i,
    input logic         step_i,
    input logic         stepping_o,
    input logic         stepped_o,
    input logic  [63:0] amount_i,
    input logic         slew_i,
    input logic         slewing_o,
    input time_t        time_o,
    input tai_t         tai_o,
    input logic         pps_i,
    input logic         pps_o,

    input logic        [15:0] numerator_q,
    input logic signed [16:0] remainder_q,
    input logic signed [16:0] less_q,
    input logic signed [32:0] move_q,
    input logic signed [42:0] base_q,
    input logic signed [42:0] way_q,
    input logic        [41:0] inc_q,
    input logic        [ 3:0] tick_q,
    input logic        [63:0] left_q,
    input logic        [64:0] rest_q,
    input logic        [31:0] slew_rate_q,
    input logic        [31:0] take_q,
    input logic               negative_q,
    input logic               rst_q,
    input logic               asked_q,
    input logic        [ 2:0] state_q,
    input logic               is_set_q,
    input logic               takes,
    input logic               near_q,
    input logic               over_q,
    input logic               apply,
    input logic        [30:0] sum_q,
    input logic        [31:0] step_ns_q,
    input logic        [47:0] step_seconds_q,
    input logic        [ 1:0] leave_q,
    input logic               clear_q,
    input logic               ge_q,
    input logic               wrap_q,
    input logic               wrapped_q,
    input logic signed [63:0] op_q,
    input logic        [47:0] seconds_op_q,
    input logic        [47:0] seconds_q,
    input logic        [47:0] seconds1_q,
    input logic        [63:0] base_op_q,
    input logic        [63:0] base_ns_q,
    input logic        [61:0] time_q,
    input logic        [61:0] time1_q,
    input logic        [29:0] less1_q,
    input tai_t               tai1_q,
    input logic        [ 2:0] stepped_q
);

  typedef logic [63:0] wide_t;

  localparam logic [2:0] READ = 3'd2;
  localparam logic [2:0] JUDGE = 3'd3;
  localparam logic [2:0] CHOOSE = 3'd4;
  localparam logic [2:0] APPLY = 3'd5;
  localparam logic [2:0] LEAVE = 3'd6;

  localparam wide_t SECOND = {32'(SECOND_NS), 32'b0};
  localparam wide_t MOST = wide_t'(42'h3ff_ffff_ffff);  // that a cycle goes
  localparam wide_t NEAR = {32'(SECOND_NS / 4096 - 1) * 32'd4096, 32'b0};

  localparam logic signed [47:0] FASTEST = 48'sh200_0000_0000;

  reset_rule u_reset (.*);

  logic rst2_q, begun_q;
  time_t value_q;

  assign begun_q = u_reset.started_q;

  always_ff @(posedge clk) begin
    rst2_q <= rst_q && begun_q;
    if (takes) value_q <= value_i;
  end

  always_comb begin
    assume (value_i.ns < 30'(SECOND_NS));
    assume (!stepping_o || value_i == value_q);
    assume (rst || !rst_q || rst2_q || !begun_q);
  end

  // The way of a cycle
  logic [15:0] numerator1_q, denominator1_q;
  logic signed [47:0] base1_q, total_q, goes_q;
  logic signed [19:0] debt_q;  // by how much of denominator the fractions are ahead of the carries
  logic signed [47:0] carry;
  logic steady_q, ways_q;

  assign carry = 48'(way_q) - total_q;

  always_ff @(posedge clk) begin
    {numerator1_q, denominator1_q} <= {rate_i.numerator, rate_i.denominator};
    steady_q <= (rst || steady_q) && rate_i.numerator == numerator1_q && rate_i.denominator == denominator1_q;
    base1_q <= signed'(48'(rate_i.period)) + 48'(signed'(rate_i.adjust));
    total_q <= base1_q + 48'(move_q);
    goes_q <= total_q + carry;
    ways_q <= !rst_q;
    debt_q <= debt_q + signed'(20'(numerator1_q)) - (carry[0] ? signed'(20'(denominator1_q)) : '0);
    if (rst || rst_q) debt_q <= '0;
    if (rst) ways_q <= 1'b0;
  end

  // The slew
  wide_t owed_q, sized_left, sized_take;
  logic [4:0] quiet_q;
  assign sized_left = negative_q ? -left_q : left_q;
  assign sized_take = negative_q ? -wide_t'(take_q) : wide_t'(take_q);

  always_ff @(posedge clk) begin
    owed_q  <= asked_q && tick_q == 4'd3 ? amount_i : owed_q - wide_t'(move_q);
    quiet_q <= move_q != '0 ? '0 : quiet_q + 5'(quiet_q != '1);
    if (rst) begin
      owed_q  <= '0;
      quiet_q <= '1;
    end
  end

  // The clock beside it: as time_q, seconds_q have it, but with the carry; then a cycle later, two, three
  typedef struct packed {
    logic [47:0] seconds;
    wide_t       rest;     // ns and fraction
    wide_t       base;     // of tai_o: what is added to ns
    logic        stepped;
    logic        is_set;
    logic [41:0] inc;      // that it went
    logic        valid;
  } clock_t;

  logic [41:0] inc_op_q;
  logic step_op_q, set_op_q, over;
  logic  [61:0] read_q;
  wide_t added_ns;
  clock_t c0_q, c1_q, c2_q, c3_q, c0_d;
  wide_t sum, base_now;

  assign over = !is_set_q && wide_t'(read_q[61:32]) + wide_t'(value_q.ns) >= wide_t'(SECOND_NS);
  assign added_ns = wide_t'(value_q.ns) - (over ? wide_t'(SECOND_NS) : '0);
  assign base_now = base_ns_q + (time_q[61:32] >= 30'(SECOND_NS) ? wide_t'(SECOND_NS) : '0);

  always_comb begin
    sum = c0_q.rest + wide_t'(inc_op_q) + (step_op_q ? wide_t'({value_q.ns, value_q.fraction}) : '0);
    c0_d = '{
        seconds: c0_q.seconds + 48'(sum >= SECOND) + (step_op_q ? value_q.seconds : '0),
        rest: sum >= SECOND ? sum - SECOND : sum,
        base: '0,
        stepped: step_op_q || set_op_q,
        is_set: set_op_q,
        inc: inc_op_q,
        valid: !rst
    };
    if (set_op_q) {c0_d.seconds, c0_d.rest} = {value_q.seconds, wide_t'({value_q.ns, value_q.fraction})};
  end

  always_ff @(posedge clk) begin
    inc_op_q <= inc_q;
    {step_op_q, set_op_q} <= {apply && !is_set_q, apply && is_set_q};
    if (state_q == READ) read_q <= time_q;
    c0_q <= c0_d;
    {c3_q, c2_q, c1_q} <= {c2_q, c1_q, c0_q};
    c1_q.base <= base_now;
    if (rst) begin
      {c3_q, c2_q, c1_q, c0_q} <= '0;
      {step_op_q, set_op_q} <= '0;
    end
  end

  // Whether `to` is so much later as it must be behind `from`
  function automatic logic follows(input clock_t from, input clock_t to);
    wide_t went = from.rest + wide_t'(to.inc);
    if (to.stepped) return 1'b1;
    return went >= SECOND ? to.seconds == from.seconds + 1'b1 && to.rest == went - SECOND :
           to.seconds == from.seconds && to.rest == went;
  endfunction

  function automatic logic base_follows(input clock_t from, input clock_t to, input wide_t base);
    return to.stepped || base == from.base + (to.seconds != from.seconds ? wide_t'(SECOND_NS) : '0);
  endfunction

  time_t time3_q;
  tai_t tai3_q;
  logic forward;
  always_ff @(posedge clk) {time3_q, tai3_q} <= {time_o, tai_o};

  assign forward = time_o.seconds == time3_q.seconds ?
      {time_o.ns, time_o.fraction} >= {time3_q.ns, time3_q.fraction} : time_o.seconds == time3_q.seconds + 1'b1;

  always_comb begin
    if (!rst) begin
      if (c2_q.valid) begin
        a_time : assert (time_o == {c2_q.seconds, c2_q.rest[61:0]});
        a_second : assert (time_o.ns < 30'(SECOND_NS));
        a_stepped : assert (stepped_o == c2_q.stepped);
        if (c2_q.is_set) a_set : assert (time_o == value_q);
      end
      if (c2_q.valid && c3_q.valid && !stepped_o) begin
        a_forward : assert (forward);
        a_tai :
        assert (tai_o.fraction == time_o.fraction[31:16] && tai_o.ns - wide_t'(time_o.ns) ==
                tai3_q.ns - wide_t'(time3_q.ns) + (time_o.seconds != time3_q.seconds ? wide_t'(SECOND_NS) : '0));
      end
      if (!rst_q) a_way : assert (carry == '0 || carry == 48'd1);
      if (ways_q) a_goes : assert (48'(inc_q) == (goes_q < 0 ? '0 : goes_q));
      if (!rst_q && steady_q && numerator1_q < denominator1_q) begin
        a_remainder :
        assert (debt_q > -signed'(20'(denominator1_q)) && debt_q <= signed'(20'(numerator1_q)));
      end
      if (!slewing_o) a_slewed : assert (owed_q == wide_t'(move_q));
      a_slew_rate : assert (move_q == '0 || (quiet_q >= 5'd15 && (move_q < 0 ? -move_q : move_q) <= 33'(slew_rate_q)));
    end
  end

  // For the induction: the way and the slew
  always_comb begin
    i_rates : assert (!begun_q || (numerator_q == numerator1_q && less_q == 17'(numerator1_q) - 17'(denominator1_q)));
    i_base :
    assert (!begun_q || (48'(base_q) == base1_q && base1_q < FASTEST && base1_q > -FASTEST));
    if (!rst) begin
      i_carry : assert (rst_q || goes_known());
      if (steady_q && numerator1_q < denominator1_q) begin
        i_bound :
        assert (20'(remainder_q) >= -signed'(20'(denominator1_q)) && 20'(remainder_q) < signed'(20'(numerator1_q)) ||
                remainder_q == -17'sd1);
        if (!rst_q) i_debt : assert (debt_next() == 20'(remainder_q) + 20'sd1);
      end
      unique case (tick_q)
        4'd1: begin
          i_owed1 : assert (owed_q == sized_left && move_q == '0);
          i_rest : assert (rest_q == {1'b0, left_q} - 65'(slew_rate_q));
        end
        4'd2: begin
          i_owed2 : assert (owed_q == sized_left + sized_take && move_q == '0);
          i_take : assert (take_q <= slew_rate_q && (slewing_o || take_q == '0));
        end
        4'd3: i_owed3 : assert (owed_q == sized_left + wide_t'(move_q));
        default: i_owed : assert (owed_q == sized_left && move_q == '0);
      endcase
      i_left : assert (slewing_o || left_q == '0);
      i_quiet : assert (quiet_q >= {1'b0, 4'(tick_q - 4'd4)});
    end
  end

  function automatic logic goes_known();
    return 48'(way_q) == total_q || 48'(way_q) == total_q + 48'sd1;
  endfunction

  function automatic logic signed [19:0] debt_next();
    return debt_q + signed'(20'(numerator1_q)) - (carry[0] ? signed'(20'(denominator1_q)) : '0);
  endfunction

  // For the induction: steps and carries
  logic idle;
  assign idle = !ge_q && !wrap_q && !wrapped_q;

  always_comb begin
    if (begun_q && rst_q) begin
      i_reset :
      assert ({state_q, ge_q, wrap_q, wrapped_q, stepped_q, stepped_o, time_q, c1_q, c2_q, c3_q} == '0);
      i_reset_slew : assert ({tick_q, left_q, asked_q, slewing_o} == '0);
      i_reset_remainder : assert (remainder_q == '1);
      i_reset_c0 : assert ({c0_q.seconds, c0_q.rest} == '0);
      if (rst2_q) i_reset_seconds : assert (seconds_q == '0 && base_ns_q == '0);
    end
    if (begun_q) i_c0_valid : assert (c0_q.valid == !rst_q);
    i_state : assert (!begun_q || state_q <= LEAVE);
    if (!rst) begin
      i_op_state : assert (!(step_op_q || set_op_q) || (state_q == LEAVE && leave_q == '0));
      i_op_kind : assert (!(step_op_q && set_op_q) && (!step_op_q || !is_set_q) && (!set_op_q || is_set_q));
      i_clear : assert (clear_q == set_op_q);
      i_value : assert (state_q == '0 || value_q.ns < 30'(SECOND_NS));
      i_op :
      assert (op_q == (set_op_q ? '0 : wide_t'(inc_op_q)) +
              (step_op_q || set_op_q ? {added_ns[31:0], value_q.fraction} : wrap_q ? -SECOND : '0));
      i_seconds_op :
      assert (seconds_op_q == (step_op_q || set_op_q ? value_q.seconds + 48'(over) : 48'(wrap_q)));
      if (!step_op_q && !set_op_q) i_base_op : assert (base_op_q == (wrap_q ? wide_t'(SECOND_NS) : '0));
      i_phase : assert (idle || (ge_q && !(wrap_q && wrapped_q)));
      i_ge : assert (ge_q == (time1_q[61:32] >= 30'(SECOND_NS)));
      i_less : assert (less1_q == time1_q[61:32] - 30'(SECOND_NS));
      i_near : assert (near_q == (wide_t'(time1_q) >= NEAR));
      if (idle) i_most0 : assert (wide_t'(time_q) < SECOND + 8 * MOST);
      if (ge_q && !wrap_q && !wrapped_q)
        i_most1 : assert (wide_t'(time_q) >= SECOND && wide_t'(time_q) < SECOND + 9 * MOST);
      if (wrap_q) i_most2 : assert (wide_t'(time_q) >= SECOND && wide_t'(time_q) < SECOND + 10 * MOST);
      if (wrapped_q) i_most3 : assert (wide_t'(time_q) < 11 * MOST);
      if (state_q inside {JUDGE, CHOOSE, APPLY} || step_op_q || set_op_q) begin
        i_still : assert (idle);
        i_read : assert (wide_t'(read_q) < NEAR + MOST + 1'b1);
        i_grown : assert (time_q >= read_q && wide_t'(time_q) - wide_t'(read_q) <= grown());
      end
      if (state_q == READ && !near_q) i_reads : assert (idle && wide_t'(time_q) < NEAR + MOST + 1'b1);
      if (state_q == JUDGE) i_judge : assert (sum_q == 31'(read_q[61:32]) + 31'(value_q.ns));
      if (state_q == CHOOSE) i_choose : assert (over_q == over);
      if (state_q == APPLY)
        i_apply : assert (step_ns_q == added_ns[31:0] && step_seconds_q == value_q.seconds + 48'(over));

      if (c0_q.valid) i_c0 : assert (is_clock(c0_q, time_q, seconds_q));
      if (c1_q.valid) i_c1 : assert (is_clock(c1_q, time1_q, seconds1_q));
      i_valid : assert ((!c1_q.valid || c0_q.valid) && (!c2_q.valid || c1_q.valid) && (!c3_q.valid || c2_q.valid));
      if (c1_q.valid) i_follows0 : assert (follows(c1_q, c0_q) && base_follows(c1_q, c0_q, base_now));
      if (c2_q.valid) i_follows1 : assert (follows(c2_q, c1_q) && base_follows(c2_q, c1_q, c1_q.base));
      if (c3_q.valid) i_follows2 : assert (follows(c3_q, c2_q) && base_follows(c3_q, c2_q, c2_q.base));
      i_bounds : assert (c0_q.rest < SECOND && c1_q.rest < SECOND && c2_q.rest < SECOND && c3_q.rest < SECOND);
      if (c1_q.valid)
        i_tai1 :
        assert (tai1_q.fraction == time1_q[31:16] && tai1_q.ns == c1_q.base + wide_t'(c1_q.rest[63:32]));
      if (c2_q.valid)
        i_tai2 :
        assert (tai_o.fraction == c2_q.rest[31:16] && tai_o.ns == c2_q.base + wide_t'(c2_q.rest[63:32]));
      if (c3_q.valid) begin
        i_tai3 : assert (tai3_q.fraction == c3_q.rest[31:16] && tai3_q.ns == c3_q.base + wide_t'(c3_q.rest[63:32]));
        i_time3 : assert (time3_q == {c3_q.seconds, c3_q.rest[61:0]});
      end
      i_stepped : assert (stepped_q == {c1_q.stepped, c0_q.stepped, step_op_q || set_op_q});
      if (c0_q.stepped) i_leave1 : assert (state_q == LEAVE && leave_q == 2'd1);
      if (c1_q.stepped) i_leave2 : assert (state_q == LEAVE && leave_q == 2'd2);
      if (c2_q.stepped) i_leave3 : assert (state_q == LEAVE && leave_q == 2'd3);
      if (c0_q.is_set) i_set0 : assert (c0_q.stepped && {c0_q.seconds, c0_q.rest[61:0]} == value_q);
      if (c1_q.is_set) i_set1 : assert (c1_q.stepped && {c1_q.seconds, c1_q.rest[61:0]} == value_q);
      if (c2_q.is_set) i_set2 : assert (c2_q.stepped && {c2_q.seconds, c2_q.rest[61:0]} == value_q);
    end
  end

  function automatic logic is_clock(input clock_t clock, input logic [61:0] rest, input logic [47:0] seconds);
    if (clock.rest >= SECOND) return 1'b0;
    return wide_t'(rest) >= SECOND ? clock.rest == wide_t'(rest) - SECOND && clock.seconds == seconds + 1'b1 :
           clock.rest == wide_t'(rest) && clock.seconds == seconds;
  endfunction

  function automatic wide_t grown();
    unique case (state_q)
      JUDGE:   return MOST;
      CHOOSE:  return 2 * MOST;
      APPLY:   return 3 * MOST;
      default: return 4 * MOST;
    endcase
  endfunction

  logic unused;
  assign unused = ^{set_i, step_i, slew_i, pps_i, pps_o};

endmodule

bind time_counter time_counter_formal u_formal (
    .state_q(3'(state_q)),
    .*
);
