// Reads the same piece of memory again and again into a stream, one packet each time, as far ahead as its buffer holds.
// When it is stopped, what is under way is dropped; it starts again at the beginning.
module plane_reader
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned Depth = 512,  // beats read ahead
    parameter int unsigned MaxBurst = 256  // beats of the longest burst; 4 KiB at most in any case
) (
    input logic clk,
    input logic rst,

    // Constant while it runs, and until it is idle
    input logic             run_i,
    input logic [AddrW-1:0] base_i,   // the bits within 4 KiB do not count
    input logic [     31:0] beats_i,  // 0: nothing is read

    output logic [DataW-1:0] m_axis_tdata,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // the memory gave this beat with an error
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // AXI4 read master, one ID
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    output logic idle_o  // stopped, and no read outstanding
);

  localparam int unsigned LANES_W = $clog2(DataW / 8);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned MAX_W = PAGE_W < $clog2(MaxBurst) ? PAGE_W : $clog2(MaxBurst);
  localparam int unsigned MAX_BEATS = 1 << MAX_W;
  localparam int unsigned COUNT_W = $clog2(Depth) + 1;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check_width
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end
  if (MaxBurst < 2 || MaxBurst > 256 || (MaxBurst & (MaxBurst - 1)) != 0) begin : gen_check_burst
    $error("%m: MaxBurst = %0d must be a power of two, 2 to 256", MaxBurst);
  end
  if (Depth < 2 * MAX_BEATS) begin : gen_check_depth
    $error("%m: Depth = %0d must hold two bursts, %0d beats", Depth, 2 * MAX_BEATS);
  end

  typedef logic [COUNT_W-1:0] count_t;

  logic running_q;  // follows run_i; falls at once, rises when the reads of before are through
  count_t awaited_q, held_q;  // beats asked for that have not come; asked for that have not left
  logic [31:0] left_q, due_q;  // beats of the packet: not yet asked for; not yet come
  logic [AddrW-LANES_W-1:0] next_q, first, address_q;  // in beats; the last one is on offer
  logic [7:0] len_q;
  logic ask_q;  // a burst is on offer
  logic [31:0] beats;
  logic whole_q, some_q;  // left_q is more than a burst, is not 0: a cycle late; a burst takes two
  logic ask, asked, came, gone, buffer_tready;

  // A burst at a time, where the buffer has room for the longest one. Asked for is what arvalid offers too.
  assign first = {base_i[AddrW-1:12], PAGE_W'(0)};
  assign beats = whole_q ? 32'(MAX_BEATS) : left_q;
  assign ask = running_q && run_i && !ask_q && held_q <= count_t'(Depth - MAX_BEATS) && some_q;
  assign asked = ask_q && m_axi_i.arready;
  assign came = m_axi_i.rvalid && buffer_tready;
  assign gone = m_axis_tvalid && m_axis_tready;

  assign m_axi_o = '{
          araddr: 64'({address_q, LANES_W'(0)}),
          arlen: len_q,
          arsize: 3'(LANES_W),
          arburst: 2'b01,  // INCR
          arcache: 4'b0011,  // normal memory, not cacheable, bufferable
          arprot: 3'b000,
          arvalid: ask_q,
          rready: buffer_tready  // there is room for all that was asked for
      };
  assign idle_o = !running_q && awaited_q == '0;

  always_ff @(posedge clk) begin
    if (asked) ask_q <= 1'b0;
    if (ask) begin
      ask_q <= 1'b1;
      address_q <= next_q;
      len_q <= 8'(beats - 1'b1);
      left_q <= whole_q ? left_q - 32'(MAX_BEATS) : beats_i;
      next_q <= whole_q ? next_q + (AddrW - LANES_W)'(MAX_BEATS) : first;
    end
    awaited_q <= awaited_q + (ask ? count_t'(beats) : '0) - count_t'(came);
    held_q <= held_q + (ask ? count_t'(beats) : '0) - count_t'(gone);
    if (came) due_q <= due_q == 32'd1 ? beats_i : due_q - 1'b1;

    whole_q <= left_q > 32'(MAX_BEATS);
    some_q <= left_q != '0;
    running_q <= run_i && (running_q || awaited_q == '0);
    if (!running_q) begin
      whole_q <= beats_i > 32'(MAX_BEATS);
      some_q <= beats_i != '0;
      held_q <= '0;
      left_q <= beats_i;
      due_q <= beats_i;
      next_q <= first;
    end
    // As the reset, so that it drives less: nothing is on offer and nothing comes while it is idle.
    if (rst || idle_o) begin
      ask_q <= 1'b0;
      awaited_q <= '0;
    end
    if (rst) running_q <= 1'b0;
  end

  axis_buffer #(
      .DataW(DataW + 2),
      .Depth(Depth)
  ) u_buffer (
      .clk,
      .rst          (rst || !running_q),
      .s_axis_tdata ({m_axi_i.rresp != 2'b00, due_q == 32'd1, m_axi_rdata}),
      .s_axis_tvalid(m_axi_i.rvalid && running_q),
      .s_axis_tready(buffer_tready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready)
  );

  logic unused;
  assign unused = ^{m_axi_i.rlast, base_i[11:0]};

endmodule
