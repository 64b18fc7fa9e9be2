// Counters of 64 bits in memory. Loses no event: single events may come in every cycle, numbers wait on a stream.
// A snapshot copies all to a second bank, which software reads; a clear zeroes both banks.
module counters
  import framelane_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned Counters = 128,
    parameter int unsigned Pulses   = $bits(pulses_t)  // the first counters, each of single events
) (
    input logic clk,
    input logic rst,  // clears

    // Counters 0 to Pulses - 1 count cycles
    input logic [Pulses-1:0] pulse_i,

    // Amounts for the counters behind those. An index outside the table counts nothing.
    input  count_t s_axis_count_tdata,
    input  logic   s_axis_count_tvalid,
    output logic   s_axis_count_tready,

    // Commands, in any cycle; while one is under way the other waits, the clear is first
    input  logic snapshot_i,
    input  logic clear_i,
    output logic busy_o,

    // Software: one half of a counter, of the last snapshot, two cycles after its index
    input  logic [10:0] index_i,
    input  logic        high_i,
    output logic [31:0] data_o
);

  localparam int unsigned INDEX_W = $clog2(Counters);

  // Turns: one a cycle, each takes what waits for one counter to memory: pulse p has turn 2 p of a round, the stream the odd
  // ones. A pass visits all counters instead, pulses first, between two rounds.
  localparam int unsigned PULSE_W = $clog2(Pulses);
  localparam int unsigned TURNS = 2 << PULSE_W;
  // From a visit of a pulse to the next: at most a pass and the rounds before and behind it.
  localparam int unsigned WAITING_W = $clog2(Counters + 2 * TURNS + 1);

  if (Pulses < 9 || Pulses > 64) begin : gen_check_pulses
    $error("%m: Pulses = %0d must be 9 to 64", Pulses);
  end
  if (Counters <= 1 << PULSE_W || Counters > 2048) begin : gen_check
    $error("%m: Counters = %0d must be more than the turns of pulses, and at most 2048", Counters);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [WAITING_W-1:0] waiting_t;

  typedef enum logic [1:0] {
    ROUND,  // turns
    CLEAR,  // a pass that starts from 0
    COPY    // a pass
  } state_e;

  // A visit of a counter on its way to memory
  typedef struct packed {
    logic   valid;
    logic   copy;  // also to the second bank
    index_t index;
  } visit_t;

  state_e state_q;
  visit_t visit, visit0_q, visit1_q, visit2_q, visit3_q, visit4_q;
  index_t visit_q;  // turn, or counter of the pass
  logic want_clear_q, want_copy_q, in_pass, round_over, pass_over;

  assign in_pass = state_q != ROUND;
  assign round_over = state_q == ROUND && visit_q == index_t'(TURNS - 1);
  assign pass_over = in_pass && visit_q == index_t'(Counters - 1);
  assign busy_o = in_pass || want_clear_q || want_copy_q || snapshot_i || clear_i || visit0_q.copy || visit1_q.copy ||
      visit2_q.copy || visit3_q.copy || visit4_q.copy;

  always_ff @(posedge clk) begin
    visit_q <= visit_q + 1'b1;
    if (pass_over) begin
      state_q <= ROUND;
      visit_q <= '0;
    end
    if (round_over) begin
      visit_q <= '0;
      if (want_clear_q) state_q <= CLEAR;
      else if (want_copy_q) state_q <= COPY;
    end
    want_clear_q <= clear_i || (want_clear_q && !round_over);
    want_copy_q  <= snapshot_i || (want_copy_q && !(round_over && !want_clear_q));
    if (rst) begin
      state_q <= CLEAR;
      visit_q <= '0;
      want_clear_q <= 1'b0;
      want_copy_q <= 1'b0;
    end
  end

  // Whose turn it is, a cycle later. What came before a clear is forgotten as it begins.
  logic pulse_turn, may_stream_q, clear0_q, forget_q;
  logic [PULSE_W-1:0] pulse;
  logic [Pulses-1:0] visits, visits_q;

  assign pulse = in_pass ? visit_q[PULSE_W-1:0] : visit_q[PULSE_W:1];
  assign pulse_turn = in_pass ? visit_q < index_t'(1 << PULSE_W) : !visit_q[0];

  always_comb for (int unsigned p = 0; p < Pulses; p++) visits[p] = pulse_turn && pulse == PULSE_W'(p);

  always_ff @(posedge clk) begin
    visits_q <= visits;
    visit0_q <= '{
        valid: in_pass || (pulse_turn && 32'(pulse) < Pulses),
        copy: in_pass,
        index: in_pass ? visit_q : index_t'(pulse)
    };
    may_stream_q <= !in_pass && visit_q[0] && visit_q[PULSE_W:1] != '0;
    clear0_q <= state_q == CLEAR;
    forget_q <= round_over && want_clear_q;
    if (rst) begin
      visit0_q.valid <= 1'b0;
      may_stream_q   <= 1'b0;
    end
  end

  // Single events wait here for the visit of their counter.
  waiting_t [Pulses-1:0] waiting_q;
  logic [Pulses-1:0] starts;
  waiting_t visited;

  always_comb begin
    visited = '0;
    for (int unsigned p = 0; p < Pulses; p++) begin
      if (visits_q[p]) visited |= waiting_q[p];
      starts[p] = rst || forget_q || visits_q[p];
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned p = 0; p < Pulses; p++) begin
      waiting_q[p] <= waiting_q[p] + waiting_t'(pulse_i[p]);
      if (starts[p]) waiting_q[p] <= waiting_t'(pulse_i[p] && !rst);
    end
  end

  // One addition: choose; read; take the memory's output; add; write. A counter may be visited again four cycles later: the stream
  // waits so long, also at the begin of a round for the last counters of a pass.
  waiting_t visited1_q;
  logic [63:0] streamed1_q, amount2_q, amount3_q;
  logic from_stream1_q, clear1_q, clear2_q, clear3_q;
  logic stream_turn, stream_knows;
  logic [1:0] streamed_q;  // the last two turns were the stream's

  assign stream_turn = may_stream_q && streamed_q == '0;
  assign stream_knows = s_axis_count_tdata.index >= 16'(Pulses) && s_axis_count_tdata.index < 16'(Counters);
  assign s_axis_count_tready = stream_turn;

  always_comb begin
    visit = visit0_q;
    if (stream_turn) begin
      visit.valid = s_axis_count_tvalid && stream_knows;
      visit.index = index_t'(s_axis_count_tdata.index);
    end
  end

  logic [63:0] live[Counters];
  logic [63:0] shown[Counters];
  logic [63:0] read_q, old_q, sum_q;

  always_ff @(posedge clk) begin
    streamed_q <= {streamed_q[0], stream_turn && s_axis_count_tvalid};
    visit1_q <= visit;
    visited1_q <= visited;
    streamed1_q <= s_axis_count_tdata.amount;
    from_stream1_q <= stream_turn;
    clear1_q <= clear0_q;
    read_q <= live[visit1_q.index];
    visit2_q <= visit1_q;
    amount2_q <= from_stream1_q ? streamed1_q : 64'(visited1_q);
    clear2_q <= clear1_q;
    old_q <= read_q;
    visit3_q <= visit2_q;
    amount3_q <= amount2_q;
    clear3_q <= clear2_q;
    sum_q <= (clear3_q ? '0 : old_q) + amount3_q;
    visit4_q <= visit3_q;
    if (visit4_q.valid) live[visit4_q.index] <= sum_q;
    if (visit4_q.valid && visit4_q.copy) shown[visit4_q.index] <= sum_q;
    if (rst) begin
      streamed_q <= '0;
      visit1_q.valid <= 1'b0;
      visit2_q.valid <= 1'b0;
      visit3_q.valid <= 1'b0;
      visit4_q.valid <= 1'b0;
    end
  end

  // Software. A block memory takes its time: what it gives has a cycle of its own.
  logic [63:0] shown0_q, shown_q;
  logic high0_q, high_q, known0_q, known_q;

  always_ff @(posedge clk) begin
    shown0_q <= shown[index_t'(index_i)];
    high0_q <= high_i;
    known0_q <= 32'(index_i) < Counters;
    shown_q <= shown0_q;
    high_q <= high0_q;
    known_q <= known0_q;
  end

  always_comb begin
    data_o = high_q ? shown_q[63:32] : shown_q[31:0];
    if (!known_q) data_o = '0;
  end

`ifndef SYNTHESIS
  always @(posedge clk) begin
    for (int unsigned p = 0; p < Pulses; p++) begin
      assert (rst || 32'(waiting_q[p]) < Counters + 2 * TURNS)
      else $error("%m: events of pulse %0d waited too long", p);
    end
  end
`endif

endmodule
