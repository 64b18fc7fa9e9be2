// Reads pieces of memory of one length into a stream, one packet each, in the order in which their addresses come, as far ahead as its
// buffer holds. For the same piece again and again there is plane_reader.
module piece_reader
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Beats = 128,  // of a piece
    parameter int unsigned Depth = 256,  // beats read ahead
    parameter int unsigned MaxBurst = 256  // beats of the longest burst; 4 KiB at most in any case
) (
    input logic clk,
    input logic rst,  // only when it is idle: what was asked for comes

    input  logic [63:0] s_axis_address_tdata,   // of a whole beat
    input  logic        s_axis_address_tvalid,
    output logic        s_axis_address_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // the memory gave this beat with an error
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // AXI4 read master, one ID
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    output logic idle_o  // all that was asked for has left
);

  localparam int unsigned LANES_W = $clog2(DataW / 8);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned BURST_W = $clog2(MaxBurst);
  localparam int unsigned PIECE_W = $clog2(Beats);
  localparam int unsigned LOW_W = PAGE_W < BURST_W ? PAGE_W : BURST_W;
  localparam int unsigned MAX_W = LOW_W < PIECE_W ? LOW_W : PIECE_W;  // no burst crosses a multiple of so many beats
  localparam int unsigned MAX_BEATS = 1 << MAX_W;
  localparam int unsigned COUNT_W = $clog2(Depth) + 1;
  localparam int unsigned LEFT_W = $clog2(Beats + 1);

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check_width
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end
  if (MaxBurst < 2 || MaxBurst > 256 || (MaxBurst & (MaxBurst - 1)) != 0) begin : gen_check_burst
    $error("%m: MaxBurst = %0d must be a power of two, 2 to 256", MaxBurst);
  end
  if (Beats < 2 || Depth < 2 * MAX_BEATS) begin : gen_check_depth
    $error("%m: Depth = %0d must hold two bursts, %0d beats, Beats = %0d be 2 or more", Depth, 2 * MAX_BEATS, Beats);
  end

  typedef logic [COUNT_W-1:0] count_t;
  typedef logic [LEFT_W-1:0] left_t;

  count_t held_q;  // beats asked for that have not left
  left_t left_q, to_edge, beats_q;  // beats of the piece that are not yet asked for; of the next burst
  left_t due_q;  // beats of the piece that comes which have come
  logic [63-LANES_W:0] next_q, address_q;  // in beats; the last one is on offer
  logic [7:0] len_q;
  logic known_q;  // beats_q is that of left_q
  logic ask_q;  // a burst is on offer
  logic ask, came, gone, ends, buffer_tready;

  // A burst at a time, where the buffer has room for the longest one. Asked for is what arvalid offers too.
  assign s_axis_address_tready = left_q == '0;
  assign to_edge = left_t'(MAX_BEATS) - left_t'(next_q[MAX_W-1:0]);
  assign ask = known_q && !ask_q && held_q <= count_t'(Depth - MAX_BEATS);
  assign came = m_axi_i.rvalid && buffer_tready;
  assign gone = m_axis_tvalid && m_axis_tready;
  assign ends = due_q == left_t'(Beats - 1);

  assign m_axi_o = '{
          araddr: {address_q, LANES_W'(0)},
          arlen: len_q,
          arsize: 3'(LANES_W),
          arburst: 2'b01,  // INCR
          arcache: 4'b0011,  // normal memory, not cacheable, bufferable
          arprot: 3'b000,
          arvalid: ask_q,
          rready: buffer_tready  // there is room for all that was asked for
      };
  assign idle_o = left_q == '0 && held_q == '0;

  always_ff @(posedge clk) begin
    if (s_axis_address_tvalid && s_axis_address_tready) begin
      left_q <= left_t'(Beats);
      next_q <= s_axis_address_tdata[63:LANES_W];
    end
    if (ask_q && m_axi_i.arready) ask_q <= 1'b0;
    if (ask) begin
      ask_q <= 1'b1;
      address_q <= next_q;
      len_q <= 8'(beats_q - 1'b1);
      left_q <= left_q - beats_q;
      next_q <= next_q + (64 - LANES_W)'(beats_q);
    end
    beats_q <= left_q < to_edge ? left_q : to_edge;
    known_q <= left_q != '0 && !ask;
    held_q  <= held_q + (ask ? count_t'(beats_q) : '0) - count_t'(gone);
    if (came) due_q <= ends ? '0 : due_q + 1'b1;
    if (rst) begin
      left_q <= '0;
      held_q <= '0;
      due_q  <= '0;
      ask_q  <= 1'b0;
      known_q <= 1'b0;
    end
  end

  axis_buffer #(
      .DataW(DataW + 2),
      .Depth(Depth)
  ) u_buffer (
      .clk,
      .rst,
      .s_axis_tdata ({m_axi_i.rresp != 2'b00, ends, m_axi_rdata}),
      .s_axis_tvalid(m_axi_i.rvalid),
      .s_axis_tready(buffer_tready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready)
  );

  logic unused;
  assign unused = ^{m_axi_i.rlast, s_axis_address_tdata[LANES_W-1:0]};

endmodule
