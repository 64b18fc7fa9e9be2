// Queue for packets in distributed memory that gives one on when all of it is there: then without a gap, however slowly it came.
// Only a packet that does not fit goes on before its end. Every GroupW bits of a beat are read with a copy of the address of their own, so
// that none drives more; all copies are always equal.
module axis_whole #(
    parameter int unsigned DataW = 64,
    parameter int unsigned UserW = 1,
    parameter int unsigned Depth = 32,  // beats
    parameter int unsigned GroupW = 112,  // eight cells of 32 words

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic [UserW-1:0] s_axis_tuser,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic [UserW-1:0] m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic empty_o
);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_check
    $error("%m: Depth = %0d must be a power of two, 2 or more", Depth);
  end

  localparam int unsigned PTR_W = $clog2(Depth);
  localparam int unsigned BEAT_W = UserW + 1 + KeepW + DataW;
  localparam int unsigned GROUPS = (BEAT_W + GroupW - 1) / GroupW;
  typedef logic [PTR_W:0] count_t;

  logic [BEAT_W-1:0] in_beat, out_beat;
  count_t write_q, read_q;  // one bit more than an index: equal is empty, Depth apart is full
  count_t whole_q;  // packets whose end is inside
  logic full, push, pop, too_long_q, empty_q, single;  // single: one beat is inside

  assign full = (write_q ^ read_q) == count_t'(Depth);
  assign empty_o = empty_q;
  assign single = write_q == read_q + 1'b1;
  assign s_axis_tready = !full;
  assign m_axis_tvalid = whole_q != '0 || (too_long_q && !empty_q);
  assign in_beat = {s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  assign {m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata} = out_beat;
  assign push = s_axis_tvalid && s_axis_tready;
  assign pop = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    write_q <= write_q + count_t'(push);
    read_q  <= read_q + count_t'(pop);
    empty_q <= !push && (empty_q || (pop && single));
    whole_q <= whole_q + count_t'(push && s_axis_tlast) - count_t'(pop && m_axis_tlast);
    if (full && whole_q == '0) too_long_q <= 1'b1;
    if (pop && m_axis_tlast) too_long_q <= 1'b0;
    if (rst) begin
      write_q <= '0;
      read_q <= '0;
      empty_q <= 1'b1;
      whole_q <= '0;
      too_long_q <= 1'b0;
    end
  end

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > BEAT_W ? BEAT_W - AT : GroupW;

    logic [WIDTH-1:0] memory[Depth];
    logic [PTR_W-1:0] index;  // of the oldest beat

    if (g == 0) begin : gen_first
      assign index = read_q[PTR_W-1:0];
    end else begin : gen_copy
      (* keep, dont_merge *)logic [PTR_W-1:0] index_q;

      always_ff @(posedge clk) begin
        index_q <= index_q + PTR_W'(pop);
        if (rst) index_q <= '0;
      end

      assign index = index_q;
    end

    always_ff @(posedge clk) if (push) memory[write_q[PTR_W-1:0]] <= in_beat[AT+:WIDTH];
    assign out_beat[AT+:WIDTH] = memory[index];
  end

endmodule
