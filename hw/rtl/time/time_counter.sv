// A clock of TAI whose rate and phase are adjusted: what a cycle goes is the sum of a period, a signed adjustment, a part of a slew, and
// the carry of a remainder that makes any period exact. Time never goes back but at a step or a set, which happen in one cycle.
//
//   rate, slew -> way of a cycle -> seconds and ns, which may be a few cycles too large -> carried
//
// What it goes in a cycle is added to ns; where these have reached a second they are lessened three cycles later, and what comes out in
// between is put right. So no sum waits for another.
module time_counter
  import time_pkg::*;
(
    input logic clk,
    input logic rst,

    input rate_t rate_i,

    // A set, or a step: value_i stays until stepping_o falls; another one is not taken before
    input  time_t value_i,    // of a step: its seconds are signed
    input  logic  set_i,
    input  logic  step_i,
    output logic  stepping_o,
    output logic  stepped_o,  // pulse: time_o is the first one behind it

    // A slew: amount_i stays for 16 cycles
    input  logic [63:0] amount_i,  // 2^-32 ns, signed
    input  logic        slew_i,
    output logic        slewing_o,

    output time_t time_o,
    output tai_t  tai_o,

    input  logic pps_i,  // 1: pulses per second are given
    output logic pps_o   // a cycle behind the first time_o of a second, for the first tenth of it
);

  localparam int unsigned PPS_NS = SECOND_NS / 10;
  localparam int unsigned NEAR_W = 12;  // a step waits for the end of the second where that is nearer than 2^NEAR_W ns

  typedef enum logic [2:0] {
    IDLE,    // until a set or a step comes
    SCALE,   // its seconds as ns
    READ,    // the time that is stepped, away from the end of a second
    JUDGE,   // whether the step passes the end of a second
    CHOOSE,  // what is added
    APPLY,
    LEAVE    // until it is seen
  } state_e;

  // The way of a cycle
  logic [15:0] numerator_q;
  logic signed [16:0] remainder_q, less_q;
  logic signed [32:0] move_q;
  logic signed [42:0] base_q, way_q;
  logic [41:0] inc_q;

  always_ff @(posedge clk) begin
    numerator_q <= rate_i.numerator;
    less_q <= 17'(rate_i.numerator) - 17'(rate_i.denominator);
    remainder_q <= remainder_q + (remainder_q[16] ? signed'(17'(numerator_q)) : less_q);
    base_q <= signed'(43'(rate_i.period)) + 43'(signed'(rate_i.adjust));
    way_q <= base_q + 43'(move_q) + signed'(43'(!remainder_q[16]));
    inc_q <= way_q[42] ? '0 : way_q[41:0];
    if (rst) remainder_q <= '1;
  end

  // The slew
  logic [ 3:0] tick_q;
  logic [63:0] left_q;
  logic [64:0] rest_q;
  logic [31:0] slew_rate_q, take_q;
  logic negative_q, asked_q;

  always_ff @(posedge clk) begin
    tick_q <= tick_q + 1'b1;
    asked_q <= (asked_q && tick_q != 4'd3) || slew_i;
    move_q <= '0;
    unique case (tick_q)
      4'd0: begin
        rest_q <= {1'b0, left_q} - 65'(rate_i.slew_rate);
        slew_rate_q <= rate_i.slew_rate;
      end
      4'd1: begin
        take_q <= rest_q[64] ? left_q[31:0] : slew_rate_q;
        left_q <= rest_q[64] ? '0 : rest_q[63:0];
      end
      4'd2: move_q <= negative_q ? -33'(take_q) : 33'(take_q);
      4'd3: begin
        if (asked_q) begin
          negative_q <= amount_i[63];
          left_q <= amount_i[63] ? -amount_i : amount_i;
        end
      end
      default: ;
    endcase
    slewing_o <= asked_q || slew_i || left_q != '0;
    if (rst) begin
      tick_q <= '0;
      left_q <= '0;
      asked_q <= 1'b0;
      slewing_o <= 1'b0;
    end
  end

  // Steps
  state_e state_q, state_d;
  logic is_set_q, takes, scaled, near_q, over_q, apply;
  logic [30:0] sum_q;
  logic [31:0] step_ns_q;
  logic [47:0] step_seconds_q;
  logic [63:0] scaled_ns, step_base_q;
  logic [1:0] leave_q;

  assign takes = state_q == IDLE && (set_i || step_i);
  assign apply = state_q == APPLY;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (takes) state_d = SCALE;
      SCALE: if (scaled) state_d = READ;
      READ: if (!near_q) state_d = JUDGE;
      JUDGE: state_d = CHOOSE;
      CHOOSE: state_d = APPLY;
      APPLY: state_d = LEAVE;
      default: if (leave_q == '1) state_d = IDLE;
    endcase
  end

  serial_scale u_scale (
      .clk,
      .rst,
      .start_i (takes),
      .value_i ({{16{value_i.seconds[47]}}, value_i.seconds}),
      .factor_i(SECOND_NS),
      .offset_i('0),
      .done_o  (scaled),
      .result_o(scaled_ns)
  );

  // Wide state is reset a cycle later.
  logic rst_q;
  always_ff @(posedge clk) rst_q <= rst;

  // Seconds and ns
  logic clear_q, ge_q, wrap, wrap_q, wrapped_q;
  logic signed [63:0] op_q, added;
  logic [47:0] seconds_op_q, seconds_q, seconds1_q;
  logic [63:0] base_op_q, base_ns_q;
  logic [61:0] time_q, time1_q;
  logic [29:0] less1_q;
  tai_t tai1_q;
  logic [2:0] stepped_q;

  assign wrap = ge_q && !wrap_q && !wrapped_q;
  assign added = apply ? {step_ns_q, value_i.fraction} : wrap ? {-32'(SECOND_NS), 32'b0} : '0;

  always_ff @(posedge clk) begin
    state_q <= state_d;
    leave_q <= apply ? '0 : leave_q + 1'b1;
    if (takes) is_set_q <= set_i;
    near_q <= time_q[61:32+NEAR_W] >= (30 - NEAR_W)'(SECOND_NS / 2 ** NEAR_W - 1);
    sum_q <= 31'(time_q[61:32]) + 31'(value_i.ns);
    over_q <= sum_q >= 31'(SECOND_NS) && !is_set_q;
    step_ns_q <= 32'(value_i.ns) - (over_q ? 32'(SECOND_NS) : '0);
    step_seconds_q <= value_i.seconds + 48'(over_q);
    step_base_q <= scaled_ns + (over_q ? 64'(SECOND_NS) : '0);

    // All that is added
    op_q <= (apply && is_set_q ? '0 : 64'(inc_q)) + added;
    seconds_op_q <= apply ? step_seconds_q : 48'(wrap);
    base_op_q <= apply ? step_base_q : wrap ? 64'(SECOND_NS) : '0;
    clear_q <= apply && is_set_q;
    wrap_q <= wrap;
    wrapped_q <= wrap_q;

    time_q <= (clear_q ? '0 : time_q) + op_q[61:0];
    seconds_q <= (clear_q ? '0 : seconds_q) + seconds_op_q;
    base_ns_q <= (clear_q ? '0 : base_ns_q) + base_op_q;

    // What comes out
    ge_q <= time_q[61:32] >= 30'(SECOND_NS);
    less1_q <= time_q[61:32] - 30'(SECOND_NS);
    time1_q <= time_q;
    seconds1_q <= seconds_q;
    tai1_q <= '{ns: base_ns_q + 64'(time_q[61:32]), fraction: time_q[31:16]};
    time_o <= '{
        seconds: seconds1_q + 48'(ge_q),
        ns: ge_q ? less1_q : time1_q[61:32],
        fraction: time1_q[31:0]
    };
    tai_o <= tai1_q;
    {stepped_o, stepped_q} <= {stepped_q, apply};
    pps_o <= pps_i && time_o.ns < 30'(PPS_NS);
    if (rst) begin
      state_q <= IDLE;
      ge_q <= 1'b0;
      wrap_q <= 1'b0;
      wrapped_q <= 1'b0;
      stepped_q <= '0;
      stepped_o <= 1'b0;
      pps_o <= 1'b0;
      time_q <= '0;
    end
    if (rst_q) begin
      seconds_q <= '0;
      base_ns_q <= '0;
    end
  end

  assign stepping_o = state_q != IDLE;

  logic unused;
  assign unused = ^op_q[63:62];

endmodule
