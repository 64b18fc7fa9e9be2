// AXI4 and AXI4-Lite between blocks (AMBA IHI 0022): what a master says and what it is answered. Fields are named as the signals.
// Data of AXI4 travel beside, as wide as the block's; there is one ID, which the tops give as 0.
package axi_pkg;

  typedef struct packed {
    logic [15:0] awaddr;
    logic [2:0]  awprot;
    logic        awvalid;
    logic [31:0] wdata;
    logic [3:0]  wstrb;
    logic        wvalid;
    logic        bready;
    logic [15:0] araddr;
    logic [2:0]  arprot;
    logic        arvalid;
    logic        rready;
  } axil_request_t;

  typedef struct packed {
    logic        awready;
    logic        wready;
    logic [1:0]  bresp;
    logic        bvalid;
    logic        arready;
    logic [31:0] rdata;
    logic [1:0]  rresp;
    logic        rvalid;
  } axil_response_t;

  // AXI4: what is said of a burst beside valid
  typedef struct packed {
    logic [63:0] addr;
    logic [7:0]  len;
    logic [2:0]  size;
    logic [1:0]  burst;
    logic [3:0]  cache;
    logic [2:0]  prot;
  } axi_address_t;

  // AXI4, reads
  typedef struct packed {
    logic [63:0] araddr;
    logic [7:0]  arlen;
    logic [2:0]  arsize;
    logic [1:0]  arburst;
    logic [3:0]  arcache;
    logic [2:0]  arprot;
    logic        arvalid;
    logic        rready;
  } axi_read_request_t;

  typedef struct packed {
    logic       arready;
    logic [1:0] rresp;
    logic       rlast;
    logic       rvalid;
  } axi_read_response_t;

  // AXI4, writes
  typedef struct packed {
    logic [63:0] awaddr;
    logic [7:0]  awlen;
    logic [2:0]  awsize;
    logic [1:0]  awburst;
    logic [3:0]  awcache;
    logic [2:0]  awprot;
    logic        awvalid;
    logic        wlast;
    logic        wvalid;
    logic        bready;
  } axi_write_request_t;

  typedef struct packed {
    logic       awready;
    logic       wready;
    logic [1:0] bresp;
    logic       bvalid;
  } axi_write_response_t;

endpackage
